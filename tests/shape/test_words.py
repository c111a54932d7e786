"""The glossary has every word that the product is told in, and what can become of a job as the code has it."""

import re
from enum import StrEnum

import pytest

from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from tests.shape.sources import ROOT, read

ROWS = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \| `", read("docs/words.md"), re.M))
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def test_every_word_of_the_house_style_is_defined() -> None:
    listed = re.search(r"documentation: \*(.+?)\*", read("CONTRIBUTING.md"), re.S)
    assert listed is not None
    assert [word for word in re.split(r",\s+", listed[1]) if word not in ROWS] == []


@pytest.mark.parametrize(("word", "kinds"), [("outcome", Outcome), ("fate", Fate)])
def test_the_kinds_of_it_are_those_that_there_are(word: str, kinds: type[StrEnum]) -> None:
    assert ROWS[word].partition(": ")[2].split(", ") == list(kinds)


def test_each_word_is_found_where_the_glossary_says() -> None:
    places = re.findall(r"`([a-z_0-9]+/[a-z_0-9/]*)`", read("docs/words.md"))
    gone = [p for p in places if not any((ROOT / "supervisor" / f"{p}{end}").exists() for end in ("", ".py"))]
    assert gone == []


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs/words.md"])
def test_what_it_links_to_is_there(path: str) -> None:
    assert [to for to in LINK.findall(read(path)) if not (ROOT / path).parent.joinpath(to).exists()] == []
