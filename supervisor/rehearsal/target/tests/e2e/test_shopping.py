"""Shopping: the stock that one wants to keep, and what is missing of it."""

import json

from supervisor.e2e import expect


def test_shopping_lists_what_is_missing(e2e, stocked):
    """What is missing is on the list, with how much of it.

    Tutorial block:
        # say how much to keep, and get a shopping list
        pantry keep rice 3 kg
        pantry shopping
    """
    e2e.run("pantry keep honey 1 kg", comment="say how much to keep")
    bought = e2e.run("pantry shopping").stdout
    expect(bought).to_contain("[ ] honey 0.5 kg")
    expect(bought).to_contain("[ ] rice 1 kg")


def test_shopping_grows_as_one_eats(e2e, stocked):
    """What was used is missing.

    Tutorial block:
        # say how much to keep, and get a shopping list
        pantry keep rice 3 kg
        pantry shopping
    """
    e2e.run("pantry use rice 0.5", comment="rice for dinner")
    expect(e2e.run("pantry shopping").stdout).to_contain("[ ] rice 1.5 kg")


def test_shopping_as_json(e2e, stocked):
    """A program gets name, quantity and unit of what is missing.

    Tutorial block:
        # the list for a program
        pantry shopping --json
    """
    wanted = json.loads(e2e.run("pantry shopping --json", comment="for a program").stdout)
    assert wanted == [{"name": "rice", "quantity": 1, "unit": "kg"}]


def test_shopping_with_all_in_stock(e2e, stocked):
    """Where nothing is missing, nothing is bought.

    Tutorial block:
        # say how much to keep, and get a shopping list
        pantry keep rice 3 kg
        pantry shopping
    """
    e2e.run("pantry keep rice 2 kg", comment="just what is there")
    expect(e2e.run("pantry shopping").stdout).to_contain("nothing to buy")
