"""Shelves: where things are."""

from supervisor.e2e import expect


def test_list_one_shelf(e2e, stocked):
    """The list of a shelf has what is on that shelf, and nothing else.

    Tutorial block:
        # things have a place
        pantry add butter 0.25 kg --shelf fridge
        pantry list --shelf fridge
    """
    e2e.run("pantry add butter 0.25 kg --shelf fridge", comment="things have a place")
    listed = e2e.run("pantry list --shelf fridge")
    expect(listed).to_succeed()


def test_move_to_another_shelf(e2e, stocked):
    """What was moved is on its new shelf.

    Tutorial block:
        # and can change it
        pantry move milk cellar
    """
    moved = e2e.run("pantry move milk cellar", comment="and can change it")
    expect(moved.stdout).to_contain("milk went to cellar")
    expect(e2e.run("pantry list --shelf cellar").stdout).to_contain("milk")


def test_move_what_is_not_there_is_refused(e2e, stocked):
    """What is not there cannot be moved.

    Tutorial block:
        # and can change it
        pantry move milk cellar
    """
    refused = e2e.run("pantry move caviar cellar", comment="we never had any")
    expect(refused).to_fail()
    expect(refused.stderr).to_contain("no caviar")


def test_shelves_counts_what_is_on_each(e2e):
    """Every shelf is named once, with the number of its items.

    Tutorial block:
        # which shelves are there, and how full are they?
        pantry shelves
    """
    e2e.run("pantry add butter 0.25 kg --shelf fridge", comment="two things in the fridge")
    e2e.run("pantry add milk 1 l --shelf fridge")
    expect(e2e.run("pantry shelves").stdout).to_contain("fridge  2")
