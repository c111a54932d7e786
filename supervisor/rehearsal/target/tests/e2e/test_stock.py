"""Stock: things come in and go out."""

from supervisor.e2e import expect


def test_new_makes_an_empty_pantry(e2e):
    """A new pantry has nothing in it.

    Tutorial block:
        # every pantry begins empty
        pantry new
    """
    expect(e2e.run("pantry new", comment="every pantry begins empty")).to_succeed()
    expect(e2e.run("pantry list").stdout).to_contain("nothing")


def test_a_second_new_is_refused(e2e, stocked):
    """What is there is never replaced by an empty pantry.

    Tutorial block:
        # every pantry begins empty
        pantry new
    """
    again = e2e.run("pantry new", comment="there is one already")
    expect(again).to_fail()
    expect(again.stderr).to_contain("there is a pantry already")


def test_add_puts_an_item_in(e2e):
    """What was added is in the list.

    Tutorial block:
        # put something in
        pantry new
        pantry add rice 2 kg
    """
    e2e.run("pantry new")
    expect(e2e.run("pantry add rice 2 kg", comment="put something in").stdout).to_contain("rice: 2 kg")
    expect(e2e.run("pantry list").stdout).to_contain("rice")


def test_add_refuses_less_than_nothing(e2e, stocked):
    """Nobody can add less than nothing.

    Tutorial block:
        # put something in
        pantry new
        pantry add rice 2 kg
    """
    refused = e2e.run("pantry add rice 0 kg", comment="nothing is not a quantity")
    expect(refused).to_fail()
    expect(refused.stderr).to_contain("more than nothing")


def test_add_again_adds_up(e2e):
    """Adding more of what is there adds to it.

    Tutorial block:
        # more of the same adds up
        pantry add rice 2 kg
        pantry add rice 0.5 kg
    """
    e2e.run("pantry new")
    e2e.run("pantry add rice 2 kg")
    expect(e2e.run("pantry add rice 0.5 kg", comment="more of the same").stdout).to_contain("rice: 2.5 kg")


def test_use_takes_some_out(e2e, stocked):
    """What is used is gone, and what is left is told.

    Tutorial block:
        # take some out; what is left is told
        pantry use rice 0.5
    """
    expect(e2e.run("pantry use rice 0.5", comment="take some out").stdout).to_contain("1.5 left")


def test_use_refuses_more_than_there_is(e2e, stocked):
    """One cannot take out more than there is.

    Tutorial block:
        # take some out; what is left is told
        pantry use rice 0.5
    """
    refused = e2e.run("pantry use rice 5", comment="there are only 2 kg")
    expect(refused).to_fail()
    expect(refused.stderr).to_contain("only 2 kg")


def test_use_all_takes_the_item_out(e2e, stocked):
    """Of what was used up, nothing is listed.

    Tutorial block:
        # or take all of it
        pantry use milk --all
    """
    expect(e2e.run("pantry use milk --all", comment="or take all of it")).to_succeed()
    expect(e2e.run("pantry list").stdout).not_to_contain("milk")
