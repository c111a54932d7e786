"""Exchange: to a spreadsheet, to another pantry, and back in time."""

from supervisor.e2e import expect


def test_export_to_csv(e2e, stocked):
    """A spreadsheet gets a row an item, under a row of titles.

    Tutorial block:
        # for a spreadsheet
        pantry export --format csv > pantry.csv
    """
    e2e.run("pantry export --format csv > pantry.csv", comment="for a spreadsheet")
    expect(e2e.run("cat pantry.csv")).to_succeed()


def test_export_and_import_move_everything(e2e, stocked):
    """What was exported is imported again.

    Tutorial block:
        # to another pantry
        pantry export > moving.json
        pantry import moving.json
    """
    e2e.run("pantry export > moving.json", comment="to another pantry")
    e2e.run("pantry use milk --all")
    expect(e2e.run("pantry import moving.json").stdout).to_contain("4 imported")
    expect(e2e.run("pantry list").stdout).to_contain("milk")


def test_import_of_something_else_is_refused(e2e, stocked):
    """A file that is no export is refused, and nothing changes.

    Tutorial block:
        # to another pantry
        pantry export > moving.json
        pantry import moving.json
    """
    e2e.run("echo 'dear diary' > moving.json", comment="not an export at all")
    refused = e2e.run("pantry import moving.json")
    expect(refused).to_fail()
    expect(refused.stderr).to_contain("not an export")


def test_import_into_what_is_there(e2e, stocked):
    """With --add, what is there stays.

    Tutorial block:
        # or into what is there already
        pantry import neighbour.json --add
    """
    e2e.run("pantry export > neighbour.json", comment="the neighbour has the same as we")
    e2e.run("pantry add salt 0.5 kg")
    expect(e2e.run("pantry import neighbour.json --add")).to_succeed()
    expect(e2e.run("pantry list").stdout).to_contain("salt")


def test_undo_takes_back_the_last_step(e2e, stocked):
    """What was used up by mistake is back.

    Tutorial block:
        # everybody makes mistakes
        pantry use milk --all
        pantry undo
    """
    e2e.run("pantry use milk --all", comment="everybody makes mistakes")
    expect(e2e.run("pantry undo").stdout).to_contain("undone: use milk")
    expect(e2e.run("pantry list").stdout).to_contain("milk")


def test_undo_goes_back_step_by_step(e2e, stocked):
    """Undo can be said again, until nothing is left to undo.

    Tutorial block:
        # everybody makes mistakes
        pantry use milk --all
        pantry undo
    """
    e2e.run("pantry use milk --all", comment="two mistakes")
    e2e.run("pantry use honey --all")
    e2e.run("pantry undo")
    expect(e2e.run("pantry undo").stdout).to_contain("undone: use milk")


def test_log_tells_the_last_steps(e2e, stocked):
    """The last steps are told, the latest of them last.

    Tutorial block:
        # what did we do lately?
        pantry log --last 2
    """
    e2e.run("pantry use rice 0.5", comment="three steps")
    e2e.run("pantry move honey cellar")
    e2e.run("pantry tag milk fresh")
    told = e2e.run("pantry log --last 2")
    assert told.stdout.splitlines() == ["move honey", "tag milk"]
