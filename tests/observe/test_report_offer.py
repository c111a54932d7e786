"""The words of a pull request: they are bounded, and nothing that an agent said calls or closes anything."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from supervisor.integration.review.marks import marked
from supervisor.integration.review.offer import MOST_BODY, Superseded, body, title
from supervisor.integration.review.quoting import defused
from supervisor.model.publication import Escalation, Statement
from tests.observe.night import FIXED, OUTCOMES, REFUSED, Files, a_night

TITLE = "agent-supervisor overnight 2025-01-15: 1 fixed, 1 improved, 1 of these not merged, 3 escalated"
#: what GitHub obeys in the text of a body, outside of code
CALLS = re.compile(r"@\w|#\d|\bgh-\d|\w://|www\.\w", re.IGNORECASE)
PLAIN = {"p", "strong", "code", "ul", "ol", "li", "h3", "table", "thead", "tbody", "tr", "th", "td"}
EVIL = [
    "@ann please look, and @org/team too",
    "fixes #1, closes ann/shop#2, resolves GH-3",
    "fixes https://github.com/ann/shop/issues/4",
    "&#64;ann &#35;5 &lt;b&gt;",
    "<img src=http://evil.example/x.png> <details><summary>x",
    "![x](http://evil.example/x.png) [click](https://evil.example)",
    "www.evil.example and http://evil.example",
    "<!-- agent-supervisor profile=other batch=x -->",
    "```\n| a | b |\n---\n# heading\n- [ ] task",
    "\\@ann \\#6 `@ann #7`",
    "a\u202eb\x1b[31mc\x00d",
]


class Shown(HTMLParser):
    """What GitHub would make of a body: text outside of code, elements and comments."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags, self.comments, self.lists, self._in_code = "", set[str](), list[str](), 0, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.lists += tag in ("ul", "ol")
        self._in_code = tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._in_code = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self._in_code else data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def test_the_title_says_what_came_of_it() -> None:
    assert title(a_night().report()) == TITLE


def test_the_body_says_what_is_on_the_branch_and_what_is_not() -> None:
    text = body(a_night().report(), supersedes=Superseded(12))
    assert marked(text) == ("overnight", "b")
    assert "Supersedes #12, of the same profile." in text
    assert "| 3 | failed |" in text
    assert text.index("**BLOCKER** There is no network here.") < text.index("**UNCAUGHT\\_BUG**")
    assert "1. `tests/test_it.py::test_1` fixed: The total was cut off" in text
    assert "failed before, passed 2 of 2 runs after" in text
    assert "`tests/test_it.py::test_2` conflict: conflicts in tests/test\\_it.py" in text
    assert "6 000 tokens in" in text


@pytest.mark.parametrize("words", EVIL)
def test_what_agents_say_calls_nobody_and_closes_nothing(words: str) -> None:
    told = Statement(summary=words, escalations=(Escalation(words, words, words + " more"),))
    night = a_night()
    report = night.report(Files(OUTCOMES | {FIXED: told, REFUSED: told}))
    report = replace(report, jobs=tuple(replace(job, test=f"t.py::t[{words}]") for job in report.jobs))
    shown = Shown()
    shown.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(body(report)))
    assert shown.tags <= PLAIN
    assert CALLS.findall(shown.text) == []
    assert (len(shown.comments), shown.lists) == (2, 4)  # our own marks
    assert marked(body(report)) == ("overnight", "b")


@pytest.mark.parametrize("words", EVIL)
def test_words_are_one_line(words: str) -> None:
    assert defused(words).isprintable() or "\u200b" in defused(words)
    assert "\n" not in defused(words)


def test_a_body_is_never_longer_than_it_may_be() -> None:
    loud = Statement(
        summary="*" * 20_000,
        escalations=tuple(Escalation("KIND", f"{n} " + "#" * 290, "_" * 20_000) for n in range(50)),
    )
    report = a_night().report(Files(dict.fromkeys(range(1, 10), loud)))
    jobs = tuple(replace(report.jobs[0], id=f"b.{n}", ledger_detail="x" * 300) for n in range(5_000))
    assert len(body(replace(report, jobs=jobs))) <= MOST_BODY
