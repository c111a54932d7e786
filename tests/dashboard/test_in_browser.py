"""The dashboard in a real browser: live, by mouse, by keyboard and on a phone; agents' words stay words."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from playwright.async_api import Page

from supervisor.model import event as ev
from supervisor.model.effect import Collect, Launch, Release, Verify
from supervisor.model.profile import Profile
from tests.dashboard.generated import BATCH, SCRIPT, generated
from tests.dashboard.opened import PHONE, Opened, a_browser, opened
from tests.dashboard.seen import Seen, free_port, seen
from tests.flow.world import World
from tests.waiting import until

PAGES = ("/", f"/batches/{BATCH}/jobs", f"/jobs/{BATCH}.3", f"/batches/{BATCH}/morning", "/batches")


def a_night() -> World:
    return generated(time.time(), jobs=400, agents=40, minutes=60)


def a_world(jobs: int = 6) -> World:
    world = World(local=4)
    world.now = time.time() - 60
    return world.submit("b", jobs, profile=Profile(retries=0, keep_agents="none")).do(Launch)


async def is_live(page: Page) -> None:
    await page.locator("#connection.live").wait_for()


async def test_it_is_live_says_what_happened_and_complains_of_nothing(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, a_browser() as browser, opened(there, browser) as shown:
        page = shown.page
        await is_live(page)
        there.happens(ev.JobParked(there.desk.clock(), "b", 2, 1, question="May I <b>go</b>?"))
        await page.locator("#attention", has_text="May I <b>go</b>?").wait_for()
        await page.locator("#happened li", has_text="its agent waits for a person").wait_for()
        await page.locator('[data-letter="P"] b', has_text="1").wait_for()
        assert shown.complaints == []
        assert shown.elsewhere == []


async def test_hostile_names_stay_text_on_every_page(tmp_path: Path) -> None:
    async with seen(tmp_path, a_night()) as there, a_browser() as browser, opened(there, browser) as shown:
        for path in (*PAGES, f"/jobs/{BATCH}.5", f"/jobs/{BATCH}.8", f"/jobs/{BATCH}.11"):
            await shown.page.goto(there.origin + path)
            assert await shown.page.evaluate("window.pwned") is None
            assert (
                await shown.page.evaluate("document.querySelectorAll('img, iframe, script:not([src])').length") == 0
            )
            wide = await shown.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{path} is wider than the window"
        await shown.page.goto(f"{there.origin}/jobs/{BATCH}.3")
        assert SCRIPT in await shown.page.locator("main").inner_text()
        assert shown.complaints == []
        assert shown.elsewhere == []


async def test_markup_that_got_in_could_neither_run_nor_ask_anybody(tmp_path: Path) -> None:
    """A second and a third line: the policy, and what htmx obeys."""
    async with seen(tmp_path, a_world()) as there, a_browser() as browser, opened(there, browser) as shown:
        await is_live(shown.page)
        said = await shown.page.evaluate(
            """() => {
                try { document.body.innerHTML += "<b>in</b>"; } catch (error) { return String(error); }
            }"""
        )
        assert "TrustedHTML" in said
        await shown.page.evaluate(
            """() => {
                const script = document.createElement("script"), button = document.createElement("button");
                try { script.textContent = "window.pwned = 1"; } catch {}
                button.setAttribute("hx-post", "/do/queue/pause");
                button.setAttribute("hx-trigger", "load");
                document.body.append(script, button);
                htmx.process(button);
            }"""
        )
        assert await shown.page.evaluate("window.pwned") is None
        await until("htmx refuses", lambda: any("hx-csp" in said for said in shown.complaints))
        assert not there.state.paused


async def test_every_steering_action_works_by_mouse(tmp_path: Path) -> None:
    world = a_world().publish(1, "b").do(Collect, Verify, Release)
    async with seen(tmp_path, world) as there, a_browser() as browser, opened(there, browser) as shown:
        page = shown.page
        await page.get_by_role("button", name="Pause everything").click()
        await until("the queue is paused", lambda: there.state.paused)
        await page.get_by_role("status").filter(has_text="The queue is paused").wait_for()
        await page.get_by_role("button", name="Resume the queue").click()
        await until("the queue goes on", lambda: not there.state.paused)
        await page.get_by_role("button", name="Pause the batch").click()
        await until("the batch is paused", lambda: there.state.batches["b"].paused)
        await page.get_by_role("button", name="Resume the batch").click()
        await until("the batch goes on", lambda: not there.state.batches["b"].paused)
        await page.get_by_label("slots of local").first.fill("3")
        await page.get_by_role("button", name="Set slots").click()
        await until("the slots are set", lambda: there.state.pools["local"].slots == 3)
        await page.goto(f"{there.origin}/jobs/b.6")
        await page.get_by_text("Cancel the job…").click()
        await page.get_by_role("button", name="Cancel the job").click()
        await until("the job is cancelled", lambda: there.state.batches["b"].job(6).state == "cancelled")
        await page.get_by_role("button", name="Retry").click()
        await until("the job goes again", lambda: there.state.batches["b"].job(6).state == "queued")
        await page.goto(there.origin)
        await page.get_by_text("Make a branch now…").click()
        await page.get_by_role("button", name="Make a branch now").click()
        await until("a branch is being made", lambda: there.state.batches["b"].integrations.partial is not None)
        await page.goto(there.origin)
        await page.get_by_text("Cancel the batch…").click()
        await page.get_by_role("button", name="Cancel the batch").click()
        await until("the batch is cancelled", lambda: there.state.batches["b"].state == "cancelled")
        assert shown.complaints == []


async def test_the_keyboard_alone_reaches_a_job_and_steers(tmp_path: Path) -> None:
    async with seen(tmp_path, a_night()) as there, a_browser() as browser, opened(there, browser) as shown:
        page, focused = shown.page, "document.activeElement.localName"
        await is_live(page)
        for _ in range(60):
            await page.keyboard.press("Tab")
            if await page.evaluate(focused) == "job-grid":
                break
        assert await page.evaluate(focused) == "job-grid"
        for key in ("PageDown", "ArrowRight", "ArrowDown", "End", "Home", "ArrowUp", "ArrowLeft", "PageDown"):
            await page.keyboard.press(key)
        chosen = f"{BATCH}.{await page.evaluate('document.activeElement.chosen')}"
        await page.locator("#peek", has_text=chosen).wait_for()
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"**/jobs/{chosen}")
        await page.goto(there.origin)
        await page.get_by_role("button", name="Pause everything").focus()
        await page.keyboard.press("Enter")
        await until("the queue is paused", lambda: there.state.paused)
        await page.get_by_role("status").filter(has_text="The queue is paused").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing(tmp_path: Path, scheme: str) -> None:
    async with seen(tmp_path, a_night()) as there, a_browser() as browser:
        for options in ({}, PHONE):
            async with opened(there, browser, color_scheme=scheme, **options) as shown:
                for path in PAGES:
                    await shown.page.goto(there.origin + path)
                    assert await shown.axe() == [], path


async def test_it_is_usable_on_a_phone(tmp_path: Path) -> None:
    async with seen(tmp_path, a_night()) as there, a_browser() as browser, opened(there, browser, **PHONE) as shown:
        page = shown.page
        for path in PAGES:
            await page.goto(there.origin + path)
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390, path
        await page.goto(there.origin)
        await is_live(page)
        await page.locator(".stage[data-letters*=w] .field").tap()
        await page.locator("#peek a").first.tap()
        await page.wait_for_url("**/jobs/*")
        assert shown.complaints == []


# --- a connection that is lost


class Wire:
    """A way to the daemon that can be cut."""

    def __init__(self, there: Seen) -> None:
        self._there, self.port = there, free_port()
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def join(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self.port)

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._there.port)
        self._open |= {writer, there_writer}
        with suppress(ConnectionError):
            await asyncio.gather(_copied(reader, there_writer), _copied(there_reader, writer))
        for each in (writer, there_writer):
            each.close()
            self._open.discard(each)


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def wired(there: Seen) -> AsyncIterator[Wire]:
    wire = Wire(there)
    await wire.join()
    try:
        yield wire
    finally:
        await wire.cut()


async def told(shown: Opened) -> list[str]:
    found: list[str] = await shown.page.locator("#happened li").evaluate_all("rows => rows.map((row) => row.id)")
    return found


async def test_a_lost_connection_is_said_and_nothing_is_missed(tmp_path: Path) -> None:
    async with (
        seen(tmp_path, a_world()) as there,
        a_browser() as browser,
        wired(there) as wire,
        opened(there, browser, origin=wire.origin) as shown,
    ):
        page = shown.page
        await is_live(page)
        await wire.cut()
        await page.locator("#connection.lost").wait_for()
        for job in (1, 2, 3):
            there.happens(ev.JobParked(there.desk.clock(), "b", job, 1, question=f"while away {job}"))
        await wire.join()
        await page.locator("#connection", has_text="Live again").wait_for()
        for job in (1, 2, 3):
            await page.locator("#happened", has_text=f"while away {job}").wait_for()
        await page.locator('[data-letter="P"] b', has_text="3").wait_for()
        ids = await told(shown)
        assert len(ids) == len(set(ids))
