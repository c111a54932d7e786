"""The branch of a night is reviewed on its page: in Chromium, by mouse, by keyboard and on a phone."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page

from supervisor.model.review import Verdict
from tests.agent_clone import git
from tests.dashboard.opened import PHONE, Opened, a_browser, opened
from tests.dashboard.reviewed import HOSTILE, TEXT, Night, a_reviewable_night
from tests.waiting import until

MORNING = "/batches/b/morning"


def row(page: Page, sha: str) -> Locator:
    return page.locator(f"#c-{sha}")


async def said(page: Page, progress: str) -> None:
    await page.locator("#branch .progress b", has_text=progress).wait_for()


async def test_commits_are_accepted_and_dropped_and_the_page_follows(tmp_path: Path) -> None:
    async with a_reviewable_night(tmp_path) as night, a_browser() as browser, opened(night.there, browser) as shown:
        page = shown.page
        await page.goto(night.there.origin + MORNING)
        await said(page, "0 of 3 commits reviewed")
        order = await page.locator("#branch .reviewed").evaluate_all("rows => rows.map(row => row.id)")
        assert order == [f"c-{sha}" for sha in (night.other, night.tests, night.fix)]
        await row(page, night.other).locator("summary").click()
        assert "TWO" in await row(page, night.other).locator(".diff").inner_text()
        await row(page, night.other).get_by_label("Why").fill("it <b>shouts</b>")
        await page.get_by_role("button", name=f"Drop {night.other[:10]}").click()
        await said(page, "1 of 3 commits reviewed: 1 dropped")
        assert page.url.endswith(f"#c-{night.tests}")
        await page.get_by_role("status").filter(has_text="The branch is being revised").wait_for()
        await page.locator("#connection.live").wait_for()
        await night.revise()
        await row(page, night.other).get_by_text("Reverted by").wait_for()
        assert "it <b>shouts</b>" in await row(page, night.other).inner_text()
        assert await page.get_by_role("status").filter(has_text="being revised").count() == 0
        assert git(night.repo, "show", "supervisor/b:app.py") == TEXT.strip()
        assert "Supervisor-Asked-By: ann" in git(night.repo, "log", "-1", "--format=%B", "supervisor/b")
        await page.get_by_role("button", name=f"Accept {night.tests[:10]}").click()
        await said(page, "2 of 3 commits reviewed: 1 accepted, 1 dropped")
        await page.get_by_role("button", name=f"Undo {night.other[:10]}").click()
        await said(page, "1 of 3 commits reviewed: 1 accepted")
        await page.locator("#connection.live").wait_for()
        await night.revise()
        await until("it is back", lambda: not night.review.taken_out)
        assert git(night.repo, "diff", night.other, "supervisor/b") == ""
        _unharmed(shown)


async def test_what_could_not_be_reverted_is_said_on_the_page(tmp_path: Path) -> None:
    async with a_reviewable_night(tmp_path) as night, a_browser() as browser, opened(night.there, browser) as shown:
        page = shown.page
        await page.goto(night.there.origin + MORNING)
        await page.get_by_role("button", name=f"Drop {night.fix[:10]}").click()
        await page.locator("#connection.live").wait_for()
        await night.revise()
        await row(page, night.fix).get_by_text("It is still on the branch: it can't be reverted alone").wait_for()
        await page.get_by_role("button", name=f"Drop {night.fix[:10]}").wait_for()
        assert night.tip() == night.other
        _unharmed(shown)


async def test_the_keyboard_alone_reviews_a_branch(tmp_path: Path) -> None:
    async with a_reviewable_night(tmp_path) as night, a_browser() as browser, opened(night.there, browser) as shown:
        page = shown.page
        await page.goto(f"{night.there.origin}{MORNING}#c-{night.other}")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.localName") == "summary"
        await page.keyboard.press("Enter")
        await row(page, night.other).locator(".diff").wait_for()
        await _tabbed(page, f"Accept {night.other[:10]}")
        await page.keyboard.press("Enter")
        await said(page, "1 of 3 commits reviewed: 1 accepted")
        await _tabbed(page, f"Drop {night.tests[:10]}")
        await page.keyboard.press("Enter")
        await said(page, "2 of 3 commits reviewed: 1 accepted, 1 dropped")
        assert night.review.verdict(night.tests) is Verdict.DROPPED


async def _tabbed(page: Page, name: str) -> None:
    """Tab until the button of this name has the focus, no further than one commit."""
    for _ in range(12):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.ariaLabel") == name:
            return
    raise AssertionError(f"{name} is not reached")


async def test_what_agents_wrote_stays_text(tmp_path: Path) -> None:
    async with a_reviewable_night(tmp_path) as night, a_browser() as browser, opened(night.there, browser) as shown:
        page = shown.page
        await page.goto(night.there.origin + MORNING)
        for each in await page.locator("#branch summary").all():
            await each.click()
        text = await page.locator("#branch").inner_text()
        assert HOSTILE.partition("\u202e")[0] in text
        assert "\u202e" not in text
        assert await page.evaluate("document.querySelectorAll('img, iframe, script:not([src])').length") == 0
        _unharmed(shown)
        assert await page.evaluate("window.pwned") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing(tmp_path: Path, scheme: str) -> None:
    async with (
        a_reviewable_night(tmp_path) as night,
        a_browser() as browser,
        opened(night.there, browser, color_scheme=scheme) as shown,
    ):
        await _in_every_state(night, shown)
        assert await shown.axe() == []


async def test_it_is_usable_on_a_phone(tmp_path: Path) -> None:
    async with (
        a_reviewable_night(tmp_path) as night,
        a_browser() as browser,
        opened(night.there, browser, **PHONE) as shown,
    ):
        await _in_every_state(night, shown)
        wide = await shown.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        button = await shown.page.get_by_role("button", name=f"Accept {night.fix[:10]}").bounding_box()
        assert button is not None
        assert button["height"] >= 38
        await shown.page.get_by_role("button", name=f"Accept {night.fix[:10]}").tap()
        await said(shown.page, "3 of 3 commits reviewed: 2 accepted, 1 dropped")


async def _in_every_state(night: Night, shown: Opened) -> None:
    """One is accepted, one dropped and reverted, one open to read and unreviewed."""
    page = shown.page
    await page.goto(night.there.origin + MORNING)
    await page.get_by_role("button", name=f"Accept {night.tests[:10]}").click()
    await said(page, "1 of 3")
    await page.get_by_role("button", name=f"Drop {night.other[:10]}").click()
    await page.locator("#connection.live").wait_for()
    await night.revise()
    await row(page, night.other).get_by_text("Reverted by").wait_for()
    for each in await page.locator("#branch summary").all():
        await each.click()


def _unharmed(shown: Opened) -> None:
    assert shown.complaints == []
    assert shown.elsewhere == []


async def test_a_form_of_no_session_or_of_no_sense_changes_nothing(tmp_path: Path) -> None:
    async with a_reviewable_night(tmp_path) as night, night.there.logged_in() as client:
        found = re.search(r'name="form_key" value="([^"]+)"', (await client.get(MORNING)).text)
        assert found is not None
        good = {"form_key": found[1], "word": "drop", "commit": night.fix}
        for wrong in (
            {"form_key": "x"},
            {"word": "burn"},
            {"commit": "zzzz"},
            {"reason": "x" * 501},
            {"commit": "abcd" * 10},
        ):
            answer = await client.post("/do/review/b", data=good | wrong)
            assert (answer.status_code == 403) is ("form_key" in wrong), wrong
            assert answer.status_code >= 400, wrong
        assert not night.there.state.reviews
        answer = await client.post("/do/review/b", data=good)
        assert (answer.status_code, answer.headers["location"][:21]) == (303, "/batches/b/morning?sa")
