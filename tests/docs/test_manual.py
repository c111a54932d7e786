"""The reference says something of everything that there is, and the man pages are man pages."""

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from manual import api, commands, events, keys, man, pages, states
from tests.shape.sources import ROOT, read

CONF = runpy.run_path(str(ROOT / "docs" / "conf.py"))


def test_every_verb_has_an_example() -> None:
    assert [verb.name for verb in commands.verbs() if not verb.example] == []


@pytest.mark.parametrize("table", keys.all_tables(), ids=lambda table: table.name or "top")
def test_every_key_has_a_meaning(table: keys.Table) -> None:
    assert [key.name for key in table.keys if not key.about] == []


def test_every_event_and_route_is_there() -> None:
    kinds = {each.kind for each in events.all_events()}
    assert {"batch-submitted", "launch-started", "work-verified"} <= kinds
    assert not kinds & {"batch-event", "job-event", "attempt-event"}
    fields = dict(next(each.fields for each in events.all_events() if each.kind == "batch-submitted"))
    assert fields["cases"] == "the number of cases of each entry of `tests`; (): one each"
    assert ("POST", "/v1/submit") in {(route.method, route.path) for route in api.routes()}


@pytest.mark.parametrize("page", pages.all_pages())
def test_no_cell_of_a_table_is_broken_by_its_text(page: str) -> None:
    rows = [line for line in pages.all_pages()[page].splitlines() if line.startswith("|")]
    assert rows
    assert {line.count("|") for line in rows} <= {3, 4, 5}


@pytest.mark.parametrize("page", man.all_pages())
def test_a_man_page_can_be_read(page: str, tmp_path: Path) -> None:
    path = tmp_path / page
    path.write_text(man.all_pages()[page])
    linters = [["mandoc", "-T", "lint", "-W", "error"], ["man", "--warnings", "--local-file", "-E", "UTF-8"]]
    usable = [words for words in linters if shutil.which(words[0])]
    if not usable:
        pytest.skip("there is neither mandoc nor man")
    for words in usable:
        done = subprocess.run([*words, str(path)], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_a_state_diagram_is_drawn_without_a_script() -> None:
    [jobs, *_] = CONF["MERMAID"].findall(read("docs/state-diagrams.md"))
    drawn = states.svg(jobs, "jobs")
    assert all(f">{name}</text>" in drawn for name in ("queued", "running", "parked", "done"))
    assert drawn.count('class="way"') == sum("-->" in line and "[*]" not in line for line in jobs.splitlines()) + 1


@pytest.mark.parametrize(
    ("tag", "is_fetched"),
    [
        ('<script src="https://cdn.example/x.js">', True),
        ('<link rel="stylesheet" href="//fonts.example/css">', True),
        ("<img alt='' src=http://x.example/a.png>", True),
        ('<script src="_static/x.js">', False),
        ('<a href="https://github.com/imbue-ai/mngr">', False),
    ],
)
def test_the_site_may_fetch_nothing_when_it_is_looked_at(tag: str, is_fetched: bool) -> None:
    assert bool(CONF["FETCHED"].search(tag)) is is_fetched
