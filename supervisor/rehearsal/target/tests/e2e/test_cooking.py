"""Cooking: recipes take things out of the pantry."""

from supervisor.e2e import expect


def test_cook_takes_the_ingredients_out(e2e, stocked):
    """All that the recipe needs is taken out.

    Tutorial block:
        # cook: all that the recipe needs is taken out, or nothing is
        pantry cook rice-pudding.txt
    """
    e2e.run("printf 'rice 0.25 kg\\nmilk 1 l\\n' > rice-pudding.txt", comment="a recipe")
    expect(e2e.run("pantry cook rice-pudding.txt")).to_succeed()
    expect(e2e.run("pantry show rice").stdout).to_contain("1.75 kg")


def test_cook_says_what_is_missing(e2e, stocked):
    """Where something is missing, nothing is taken out.

    Tutorial block:
        # cook: all that the recipe needs is taken out, or nothing is
        pantry cook rice-pudding.txt
    """
    e2e.run("printf 'rice 0.25 kg\\nmilk 3 l\\n' > rice-pudding.txt", comment="more milk than there is")
    refused = e2e.run("pantry cook rice-pudding.txt")
    expect(refused).to_fail()
    expect(refused.stderr).to_contain("missing: milk")


def test_cook_for_guests_takes_more(e2e, stocked):
    """For three guests it takes three times as much.

    Tutorial block:
        # for guests, it takes more
        pantry cook rice-pudding.txt --guests 3
    """
    e2e.run("printf 'rice 0.25 kg\\n' > rice-pudding.txt", comment="a recipe for one")
    e2e.run("pantry cook rice-pudding.txt --guests 3")
    expect(e2e.run("pantry show rice").stdout).to_contain("1.25 kg")


def test_scan_names_what_is_in_the_tin(e2e, stocked):
    """The catalogue knows the name for a barcode.

    Tutorial block:
        # what is this tin? ask the catalogue of barcodes
        pantry scan 4006381333931
    """
    expect(e2e.run("pantry scan 4006381333931", comment="what is this tin?").stdout).to_contain("honey")


def test_scan_of_an_unknown_code_is_refused(e2e, stocked):
    """What is not in the catalogue has no name.

    Tutorial block:
        # what is this tin? ask the catalogue of barcodes
        pantry scan 4006381333931
    """
    e2e.run("printf '1,salt\\n' > catalogue.csv", comment="a catalogue with one entry")
    refused = e2e.run("PANTRY_CATALOGUE=catalogue.csv pantry scan 2")
    expect(refused).to_fail()
    expect(refused.stderr).to_contain("2 is not in the catalogue")
