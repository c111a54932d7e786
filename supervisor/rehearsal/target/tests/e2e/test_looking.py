"""Looking: lists, details and numbers."""

import json

from supervisor.e2e import expect


def test_list_reads_amounts_as_people_do(e2e, stocked):
    """Two kilos are 2 kg, not 2.0 kg.

    Tutorial block:
        # what is there, with amounts and dates
        pantry list
    """
    e2e.run("pantry add flour 2.0 kg", comment="a whole number, in a program's spelling")
    expect(e2e.run("pantry list").stdout).to_contain("flour  2 kg")


def test_list_shows_best_before_dates(e2e, stocked):
    """What has a date is listed with it.

    Tutorial block:
        # what is there, with amounts and dates
        pantry list
    """
    expect(e2e.run("pantry list", comment="with dates").stdout).to_contain("(best before 2026-03-04)")


def test_list_as_json(e2e, stocked):
    """A program gets every item with all that is known of it.

    Tutorial block:
        # the same for a program
        pantry list --json
    """
    listed = e2e.run("pantry list --json", comment="the same for a program")
    assert json.loads(listed.stdout)


def test_list_by_date_has_what_keeps_last(e2e, stocked):
    """What has to be eaten first comes first, what keeps for ever comes last.

    Tutorial block:
        # what has to be eaten first comes first, what keeps for ever comes last
        pantry list --sort best-before
    """
    listed = e2e.run("pantry list --sort best-before", comment="what has to be eaten first comes first")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["milk", "honey", "rice", "basil"]


def test_show_tells_all_about_an_item(e2e, stocked):
    """Amount, shelf, date and tags are shown.

    Tutorial block:
        # all about one thing
        pantry show milk
    """
    shown = e2e.run("pantry show milk", comment="all about one thing").stdout
    for fact in ["1 l", "fridge", "expires on", "none"]:
        expect(shown).to_contain(fact)


def test_search_finds_a_part_of_a_name(e2e, stocked):
    """A part of the name is enough to find it.

    Tutorial block:
        # a part of the name is enough
        pantry search ric
    """
    found = e2e.run("pantry search ric", comment="a part of the name is enough").stdout
    expect(found).to_contain("rice")
    expect(found).not_to_contain("milk")


def test_search_does_not_mind_capitals(e2e, stocked):
    """Names are found however they are capitalised.

    Tutorial block:
        # a part of the name is enough
        pantry search ric
    """
    expect(e2e.run("pantry search RIC", comment="shouted").stdout).to_contain("rice")


def test_search_without_a_find_says_so(e2e, stocked):
    """Who finds nothing is told.

    Tutorial block:
        # a part of the name is enough
        pantry search ric
    """
    nothing = e2e.run("pantry search caviar", comment="we never had any")
    expect(nothing).to_fail()
    expect(nothing.stderr).to_contain("nothing is called caviar")


def test_stats_counts_the_items(e2e):
    """Items are counted, and those with a date.

    Tutorial block:
        # and the stock in numbers
        pantry stats
    """
    e2e.run("pantry add rice 2 kg", comment="two items, one with a date")
    e2e.run("pantry add milk 1 l --best-before 2026-03-04")
    expect(e2e.run("pantry stats").stdout).to_contain("2 items, 1 with a date")
