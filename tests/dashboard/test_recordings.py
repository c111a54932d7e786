"""Recordings beside the log of a job, in Chromium: chosen, played by mouse, by keyboard and on a phone; and whatever
a recording says stays text."""

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from supervisor.adapters.layout import Layout
from supervisor.adapters.recordings.checking import checked
from supervisor.adapters.recordings.keeping import BASE, Recording, keep
from supervisor.model.attempt import AttemptKey
from supervisor.model.effect import Launch
from supervisor.model.profile import Profile
from tests.dashboard.opened import PHONE, Opened, a_browser, opened
from tests.dashboard.seen import Seen, seen
from tests.flow.world import World

TEST = "tests/test_it.py::test_1"
KEY = AttemptKey("b", 1, 1)
PAGE = "/jobs/b.1"
MARKUP = "<img src=x onerror=window.pwned=1><script>window.pwned=2</script>"
SHOWN = ([0.1, "o", "$ tool double 2\r\n"], [1.0, "m", "the answer"], [0.1, "o", "\x1b[32m4\x1b[0m\r\n"])


def cast(*events: Sequence[Any], title: str = "tool double 2") -> bytes:
    head = {"version": 3, "term": {"cols": 80, "rows": 6}, "title": title, "timestamp": 1_750_000_000}
    return b"".join(json.dumps(each).encode() + b"\n" for each in (head, *events))


def kept(there: Seen, of: str, *recordings: bytes, test: str = TEST, name: str = "tool") -> Path:
    layout = Layout(there.home / "state")
    folder = layout.recorded_at_base("b", 0, "tests/test_it.py") if of == BASE else layout.recordings(KEY) / of
    told = [checked(each) for each in recordings]
    named = [(Recording(name, each.title, test, each.seconds, len(each.data)), each.data) for each in told]
    keep(folder, named, 99, 2**26)
    return folder


@asynccontextmanager
async def a_job(home: Path) -> AsyncIterator[Seen]:
    world = World(local=4)
    world.now = time.time() - 60
    async with seen(home, world.submit("b", 2, profile=Profile(retries=0, keep_agents="none")).do(Launch)) as there:
        yield there


async def shows(page: Page, text: str) -> None:
    await page.locator("#player .window").first.filter(has_text=text).wait_for()


def unharmed(shown: Opened) -> None:
    assert (shown.complaints, shown.elsewhere) == ([], [])


async def test_a_recording_is_chosen_and_played_beside_the_log(tmp_path: Path) -> None:
    async with a_job(tmp_path) as there, a_browser() as browser, opened(there, browser) as shown:
        page = shown.page
        kept(there, BASE, cast([0.1, "o", "it was 5\r\n"]))
        kept(there, "run-1", cast(*SHOWN))
        kept(there, "run-2", cast([0.1, "o", "the second run\r\n"]))
        kept(there, "agent", cast([0.1, "o", "its agent tried\r\n"], title="vim"))
        await page.goto(there.origin + PAGE)
        await shows(page, "tool double 2")
        assert await page.locator("#recording option").all_inner_texts() == [
            "Before the work: tool double 2 (0.1 s)",
            "Run 1: tool double 2 (1.2 s)",
            "Run 2: tool double 2 (0.1 s)",
            "Its agent: vim (0.1 s)",
        ]
        spans = "[...document.querySelectorAll('.term span')]"
        green = f"getComputedStyle({spans}.find(each => each.textContent === '4')).color"
        assert await page.evaluate(green) != await page.evaluate(
            "getComputedStyle(document.querySelector('.term')).color"
        )
        log, player = page.locator("#log"), page.locator("#recordings")
        left, right = await log.bounding_box(), await player.bounding_box()
        assert left is not None
        assert right is not None
        assert left["x"] + left["width"] <= right["x"]
        await page.locator(".step", has_text="the answer").click()
        assert "0:01.1" in await page.locator("#player .clock").inner_text()
        await page.get_by_role("button", name="play").click()
        await page.get_by_role("button", name="play").wait_for()
        assert "0:01.2 / 0:01.2" in await page.locator("#player .clock").inner_text()
        await _choose(page, "Before the work")
        await shows(page, "it was 5")
        await _choose(page, "Run 2")
        await shows(page, "the second run")
        await _choose(page, "Its agent")
        await shows(page, "its agent tried")
        assert await shown.axe() == []
        unharmed(shown)


async def test_the_keyboard_alone_chooses_and_plays(tmp_path: Path) -> None:
    async with a_job(tmp_path) as there, a_browser() as browser, opened(there, browser) as shown:
        page = shown.page
        kept(there, "run-1", cast(*SHOWN))
        kept(there, "agent", cast([9.0, "o", "its agent tried\r\n"]))
        await page.goto(there.origin + PAGE)
        await shows(page, "tool double 2")
        await _tabbed(page, "recording")
        await page.keyboard.press("ArrowDown")
        await shows(page, "its agent tried")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.getAttribute('aria-label')") == "terminal"
        await page.keyboard.press("ArrowLeft")
        assert "0:04.0 / 0:09.0" in await page.locator("#player .clock").inner_text()
        await page.keyboard.press("Space")
        await page.get_by_role("button", name="pause").wait_for()
        await page.keyboard.press("Space")
        await page.get_by_role("button", name="play").wait_for()
        await page.keyboard.press("End")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="pause").wait_for()
        unharmed(shown)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_phone_has_it_below_the_log_and_as_wide_as_the_screen(tmp_path: Path, scheme: str) -> None:
    async with a_job(tmp_path) as there, a_browser() as browser:
        wide = cast([0.1, "o", "x" * 79 + "\r\n"], [0.2, "m", "m" * 300], title="t" * 200)
        kept(there, "run-1", wide)
        async with opened(there, browser, **PHONE, color_scheme=scheme) as shown:
            page = shown.page
            await page.goto(there.origin + PAGE)
            await shows(page, "x" * 79)
            assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            inner = "document.querySelector('#player .window')"
            assert await page.evaluate(f"{inner}.scrollWidth - {inner}.clientWidth") <= 1
            await page.get_by_role("button", name="play").tap()
            await page.locator("#player .clock", has_text="0:00.3 / 0:00.3").wait_for()
            assert await shown.axe() == []
            unharmed(shown)


async def test_a_job_without_recordings_has_no_player(tmp_path: Path) -> None:
    async with a_job(tmp_path) as there, a_browser() as browser, opened(there, browser) as shown:
        kept(there, BASE, cast(*SHOWN), test="tests/test_it.py::test_2")
        await shown.page.goto(there.origin + PAGE)
        await shown.page.locator("#log").wait_for()
        assert await shown.page.locator("#recordings").count() == 0
        unharmed(shown)


LINK = "\x1b]8;;javascript:window.pwned=3\x07a link\x1b]8;;\x07"
HOSTILE = {
    "markup": cast([0.1, "o", MARKUP], [0.1, "m", MARKUP], title=f'"><option>{MARKUP}'),
    "escape codes": cast(
        [0.1, "o", f"\x1b]0;{MARKUP}\x07{LINK}\x1b[999999;999999H\x1b[?1049h"],
        [0.1, "o", "\x1b]52;c;Zm9v\x07\x1bP1;1|17/17\x1b\\\x1b[8;9999;9999t\r\nseen"],
    ),
    "huge": cast(*[[0.001, "o", "y" * 1_000]] * 600, [0.1, "o", "\r\nseen"]),
    "many steps": cast([0.1, "o", "seen"], *[[0.01, "m", "step"]] * 5_000),
    "a wide terminal": cast([0.1, "r", "400x200"], [0.1, "o", "seen" + "z" * 390 + "\n" * 199]),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_what_a_recording_says_stays_text(tmp_path: Path, what: str) -> None:
    async with a_job(tmp_path) as there, a_browser() as browser, opened(there, browser) as shown:
        page = shown.page
        kept(there, "run-1", HOSTILE[what], name=MARKUP)
        await page.goto(there.origin + PAGE)
        await page.locator("#player .player").wait_for(timeout=60_000)
        shows_it = "onerror=window.pwned" if what == "markup" else "seen"
        assert shows_it in await page.locator("#player").inner_text()
        assert await page.evaluate("window.pwned") is None
        assert await page.locator("main :is(img, iframe, script, a[href^=java])").count() == 0
        assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert await page.locator("#player .step").count() <= 500
        unharmed(shown)


async def test_what_can_not_be_shown_is_said(tmp_path: Path) -> None:
    """Its file was cleared away, or damaged, since the page was loaded; or nothing can be made of it."""
    async with a_job(tmp_path) as there, a_browser() as browser, opened(there, browser) as shown:
        page = shown.page
        gone = kept(there, "run-1", cast(*SHOWN))
        (gone / "1").unlink()
        damaged = kept(there, "run-2", cast(*SHOWN))
        (damaged / "1").write_bytes(b"<html>not JSON")
        kept(there, "agent", cast([0.1, "r", "9" * 9_000 + "x1"], [0.1, "o", "x"]))
        await page.goto(there.origin + PAGE)
        said = page.locator("#recording-said")
        await said.filter(has_text="It is not kept any more.").wait_for()
        await _choose(page, "Its agent")
        await said.filter(has_text="It can't be shown.").wait_for()
        await _choose(page, "Run 2")
        await said.filter(has_text="It is not kept any more.").wait_for()
        assert await page.locator("#player .player").count() == 0
        assert all("Failed to load resource" in each for each in shown.complaints)


async def test_it_is_data_for_who_is_logged_in_and_nothing_else(tmp_path: Path) -> None:
    async with a_job(tmp_path) as there:
        kept(there, "run-1", cast([0.1, "o", MARKUP]))
        address = f"{PAGE}/recordings/1/run-1/1"
        async with there.browser() as stranger:
            assert (await stranger.get(address)).status_code == 401
        async with there.logged_in() as client:
            answer = await client.get(address)
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            assert set(answer.json()) >= {"rows", "frames", "markers", "duration"}
            for wrong in ("run-1/2", "run-0/1", "run-2/1", "agent/1", "..%2Frun-1/1", "run-1%2F..%2Frun-1/1", "x/1"):
                assert (await client.get(f"{PAGE}/recordings/1/{wrong}")).status_code in (404, 422)
            assert (await client.get(f"{PAGE}/recordings/2/run-1/1")).status_code == 404
            assert (await client.get("/jobs/b.2/recordings/1/run-1/1")).status_code == 404


async def test_a_job_that_has_no_agent_yet_shows_how_it_is_at_the_base(tmp_path: Path) -> None:
    world = World(local=1)
    world.now = time.time() - 60
    async with seen(tmp_path, world.submit("b", 2).do(Launch)) as there:
        kept(there, BASE, cast([0.1, "o", "it was 5"]), test="tests/test_it.py::test_2")
        async with there.logged_in() as client:
            page = (await client.get("/jobs/b.2")).text
            assert "Before the work" in page
            assert (await client.get("/jobs/b.2/recordings/0/base/1")).status_code == 200


async def test_the_api_names_them(tmp_path: Path) -> None:
    async with a_job(tmp_path) as there:
        kept(there, BASE, cast([0.25, "o", "x"], title="tool"))
        kept(there, "run-1", cast(*SHOWN))
        socket = httpx.AsyncHTTPTransport(uds=str(there.api))
        async with httpx.AsyncClient(transport=socket, base_url="http://x") as api:
            told = (await api.get("/v1/jobs/b.1")).json()["job"]["recordings"]
        assert [each["of"] for each in told] == ["base", "run 1"]
        assert told[0] | {"bytes": 0} == {
            "of": "base", "number": 1, "name": "tool", "title": "tool", "test": TEST, "seconds": 0.25,
            "recorded_at": None, "bytes": 0, "is_cut": False,
        }  # fmt: skip


async def _choose(page: Page, of: str) -> None:
    option = page.locator("#recording option", has_text=of)
    await page.locator("#recording").select_option(value=await option.get_attribute("value"))


async def _tabbed(page: Page, wanted: str) -> None:
    for _ in range(40):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.id") == wanted:
            return
    pytest.fail(f"Tab does not come to {wanted}")
