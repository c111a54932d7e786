#!/usr/bin/env bash
# pantry, from an empty shelf to a shopping list. Every block below is proved by a test in tests/e2e.
set -euo pipefail

##############################################################################
# STOCK
##############################################################################

# every pantry begins empty
pantry new

# put something in
pantry new
pantry add rice 2 kg

# more of the same adds up
pantry add rice 2 kg
pantry add rice 0.5 kg

# take some out; what is left is told
pantry use rice 0.5

# or take all of it
pantry use milk --all

##############################################################################
# SHELVES AND TAGS
##############################################################################

# things have a place
pantry add butter 0.25 kg --shelf fridge
pantry list --shelf fridge

# and can change it
pantry move milk cellar

# which shelves are there, and how full are they?
pantry shelves

# tags say what shelves cannot
pantry tag rice staple grain
pantry list --tag staple

# a tag can be taken off again
pantry untag basil fresh

##############################################################################
# LOOKING
##############################################################################

# what is there, with amounts and dates
pantry list

# the same for a program
pantry list --json

# what has to be eaten first comes first, what keeps for ever comes last
pantry list --sort best-before

# all about one thing
pantry show milk

# a part of the name is enough
pantry search ric

# and the stock in numbers
pantry stats

##############################################################################
# DATES
##############################################################################

# what goes bad within a week?
pantry expiring --on 2026-03-01 --within 7

# what shall we eat first?
pantry suggest --on 2026-03-01

# Eating in company

##############################################################################
# SHOPPING AND COOKING
##############################################################################

# say how much to keep, and get a shopping list
pantry keep rice 3 kg
pantry shopping

# the list for a program
pantry shopping --json

# cook: all that the recipe needs is taken out, or nothing is
pantry cook rice-pudding.txt

# for guests, it takes more
pantry cook rice-pudding.txt --guests 3

# what is this tin? ask the catalogue of barcodes
pantry scan 4006381333931

##############################################################################
# IN, OUT AND BACK
##############################################################################

# for a spreadsheet
pantry export --format csv > pantry.csv

# to another pantry
pantry export > moving.json
pantry import moving.json

# or into what is there already
pantry import neighbour.json --add

# everybody makes mistakes
pantry use milk --all
pantry undo

# what did we do lately?
pantry log --last 2

# Sharing a pantry with the neighbours
