"""What a tutorial script is made of: prologue, headings, seeds, prose, waivers, blocks with lines, section and id."""

from datetime import date

import pytest

from supervisor.e2e.tutorial.blocks import parse

SCRIPT = """\
#!/usr/bin/env bash
set -euo pipefail
# A tutorial of tool.

##############################################
# SNAPSHOTS
#   What they are good for.
##############################################

## Creating them

# create one
tool snapshot create
# it has a name

# Managing snapshots

## Restoring them
# restore the last one
tool snapshot \\
  restore --last

### By name
"""


def test_a_script_is_read_as_blocks_seeds_and_headings() -> None:
    tutorial = parse(SCRIPT)
    assert [(block.line, block.end_line, block.section) for block in tutorial.blocks] == [
        (12, 14, ("SNAPSHOTS", "Creating them")),
        (18, 21, ("SNAPSHOTS", "Restoring them")),
    ]
    assert [(seed.line, seed.section) for seed in tutorial.seeds] == [(16, ("SNAPSHOTS", "Creating them"))]
    assert [heading.section[-1] for heading in tutorial.headings] == [
        "SNAPSHOTS",
        "Creating them",
        "Restoring them",
        "By name",
    ]
    assert [heading.section[-1] for heading in tutorial.empty_sections] == ["By name"]
    assert not tutorial.problems


def test_a_block_has_a_readable_id_and_its_commands_folded() -> None:
    first, second = parse(SCRIPT).blocks
    assert first.id == f"{first.slug}-{first.id[-8:]}"
    assert first.slug == "tool-snapshot-create"
    assert second.commands == ("tool snapshot restore --last",)
    assert first.text == "# create one\ntool snapshot create\n# it has a name"


def test_the_same_text_twice_gets_two_ids() -> None:
    first, second = parse("a\n\na").blocks
    assert second.id == f"{first.id}~2"


PROLOGUES = {
    "shebang only": "#!/bin/sh\n\n",
    "settings, no shebang": "set -euo pipefail\n\n",
    "settings in a second chunk": "#!/bin/sh\n\nset -e\n\n",
    "comments between": "#!/bin/sh\n# A tutorial.\n\n# by us\n\nset -o pipefail  # strict\n\n",
    "blank line before the shebang": "\n#!/bin/sh\nset -x\n\n",
    "byte order mark": "\ufeff#!/bin/sh\nset -e\n\n",
    "shell options": "#!/bin/bash\nset -eu -o pipefail\nshopt -s nullglob globstar\n\n",
    "none": "",
}


@pytest.mark.parametrize("prologue", PROLOGUES.values(), ids=PROLOGUES)
def test_the_prologue_is_neither_block_nor_seed(prologue: str) -> None:
    tutorial = parse(f"{prologue}# do it\ntool do\n")
    assert [block.text for block in tutorial.blocks] == ["# do it\ntool do"]
    assert not tutorial.seeds


def test_a_command_glued_to_the_prologue_is_kept() -> None:
    [block] = parse("#!/bin/sh\nset -e\n# do it\ntool do\n").blocks
    assert (block.line, block.text) == (3, "# do it\ntool do")


def test_settings_with_something_else_on_the_line_are_a_command() -> None:
    assert [block.text for block in parse("set -e; tool do\n\nb").blocks] == ["set -e; tool do", "b"]


def test_settings_later_in_the_script_are_a_block() -> None:
    assert len(parse("#!/bin/sh\n\na\n\nset -x\n").blocks) == 2


def test_a_heading_above_the_settings_is_kept() -> None:
    tutorial = parse("#!/bin/sh\n\n####\n# TITLE\n####\n\nset -e\n\na\n")
    assert [block.section for block in tutorial.blocks] == [("TITLE",)]


def test_a_heading_glued_to_a_command_is_part_of_the_block_and_opens_the_section() -> None:
    [block] = parse("## Start\ntool start\n").blocks
    assert block.section == ("Start",)
    assert block.text == "## Start\ntool start"


def test_comments_with_no_command_are_a_seed_unless_marked_as_prose() -> None:
    tutorial = parse("# Managing snapshots\n\n# e2e: prose\n# A word on snapshots.\n\n#\n\na\n")
    assert [seed.text for seed in tutorial.seeds] == ["# Managing snapshots"]
    assert not tutorial.problems


def test_a_hash_in_a_heredoc_is_no_comment() -> None:
    [block] = parse("cat <<EOF\n\n# a\n\nEOF\n").blocks
    assert block.end_line == 5


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_ends_of_other_systems_change_nothing(newline: str) -> None:
    assert parse(SCRIPT.replace("\n", newline)) == parse(SCRIPT)


@pytest.mark.parametrize("text", ["", "\n\n \n", "\ufeff", "#!/bin/sh", "# e2e: prose"])
def test_a_script_with_nothing_in_it_has_no_blocks(text: str) -> None:
    tutorial = parse(text)
    assert not tutorial.blocks
    assert not tutorial.seeds
    assert not tutorial.problems


def test_a_last_line_without_newline_and_tabs_before_it_are_read() -> None:
    assert [block.text for block in parse("a\n\n\tb").blocks] == ["a", "b"]


def test_a_waiver_has_a_reason_and_an_end_and_is_no_part_of_the_text() -> None:
    [plain] = parse("# do it\ntool do").blocks
    [waived] = parse("# e2e: skip(needs a phone, really, until 2031-12-31)\n# do it\ntool do").blocks
    assert waived.waiver is not None
    assert (waived.waiver.reason, waived.waiver.until) == ("needs a phone, really", date(2031, 12, 31))
    assert waived.waiver.is_valid(date(2031, 12, 31))
    assert not waived.waiver.is_valid(date(2032, 1, 1))
    assert (waived.key, waived.id) == (plain.key, plain.id)


@pytest.mark.parametrize("directive", ["skip", "skip()", "skip( )", "skip(x, until 2031-13-01)", "ski(x)", "skip x"])
def test_a_directive_that_cannot_be_read_is_a_problem_and_waives_nothing(directive: str) -> None:
    tutorial = parse(f"# e2e: {directive}\ntool do")
    assert tutorial.blocks[0].waiver is None
    assert [problem.line for problem in tutorial.problems] == [1]
