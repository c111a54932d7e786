"""The page in a real browser: it shows, filters, plays; it asks nobody for anything, and hostile text stays text."""

import shutil
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from supervisor.e2e.view.page import write
from tests.e2e.view.sample import Sample, make

#: of a player; below it are the screens of its steps
TERM = ".player > .window > .term"


@dataclass(slots=True)
class Shown:
    """An open page, and everything that it asked for or complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: Path, anchor: str = "") -> Page:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri() + anchor)
        return self.page


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return make(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "Debian's chromium is needed: BOOTSTRAP_TESTS=1 scripts/bootstrap installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def shown(browser: Browser) -> Generator[Shown]:
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.set_default_timeout(15_000)
    yield Shown(page)
    page.close()


def visible_tests(page: Page) -> list[str]:
    return sorted(page.locator(".test:visible .name").all_inner_texts())


def test_blocks_come_with_their_tests(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.run, tutorial=sample.tutorial))
    assert page.locator("h1").inner_text() == "after"
    first = page.locator(".block").first
    assert "greet --colour" in first.inner_text()
    assert first.locator(".name").all_inner_texts() == ["test_colours", "test_wrong_name"]
    assert first.locator(".tag").all_inner_texts() == ["happy", "unhappy"]
    assert "no test cites this block" in page.locator(".block.uncited").inner_text()
    assert "Things that go wrong" in page.locator("nav").inner_text()


def test_filters_and_search(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.run, tutorial=sample.tutorial))
    assert len(visible_tests(page)) == 7
    page.get_by_role("button", name="failed", exact=True).click()
    assert visible_tests(page) == ["test_hostile"]
    page.get_by_role("button", name="failed", exact=True).click()
    page.get_by_role("button", name="slow", exact=True).click()
    assert "test_count" in visible_tests(page)
    assert "test_colours" not in visible_tests(page)
    page.get_by_role("button", name="slow", exact=True).click()
    page.get_by_role("button", name="uncited", exact=True).click()
    assert visible_tests(page) == ["test_broken", "test_hostile"]
    assert page.locator(".block.uncited:visible").count() == 1
    page.get_by_role("button", name="uncited", exact=True).click()
    page.get_by_role("button", name="skipped", exact=True).click()
    assert visible_tests(page) == ["test_print", "test_slug"]
    page.get_by_role("button", name="skipped", exact=True).click()
    page.locator("#search").fill("wrong")
    assert visible_tests(page) == ["test_wrong_name"]


def test_colours_are_true(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.run, tutorial=sample.tutorial))
    page.get_by_title("test_sample.py::test_colours").click()
    out = page.locator(".out").first
    colour = "element => getComputedStyle(element).color"
    back = "element => getComputedStyle(element).backgroundColor"
    assert out.get_by_text("true", exact=True).evaluate(colour) == "rgb(1, 200, 3)"
    assert out.get_by_text("red", exact=True).evaluate(colour) == "rgb(204, 51, 51)"
    assert out.get_by_text("back", exact=True).evaluate(back) == "rgb(0, 0, 255)"
    assert "# Say hello" in page.locator(".said").inner_text()
    assert out.locator(".stderr").inner_text().strip() == "oops"


def test_recording_plays_and_is_in_step_with_the_transcript(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.run, tutorial=sample.tutorial))
    page.get_by_title("test_sample.py::test_count").click()
    term = page.locator(TERM)
    page.locator(TERM, has_text="got enough").wait_for()
    page.locator(".line").first.click()
    page.locator(TERM).filter(has_not_text="number 3").wait_for()
    page.locator(".play").click()
    page.locator(TERM, has_text="number 2").wait_for()
    page.locator(TERM, has_text="got enough").wait_for()
    page.locator(".play", has_text="play").wait_for()
    page.get_by_role("button", name="◆ counted").click()
    assert "number 3" in term.inner_text()
    assert "got enough" not in term.inner_text()
    assert page.locator(".transcript .now").count() == 1


def test_two_runs_are_compared(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.run, tutorial=sample.tutorial, compare=sample.other))
    assert "compared with before" in page.locator(".totals").inner_text()
    page.get_by_role("button", name="changed", exact=True).click()
    assert "test_broken" in visible_tests(page)
    assert "test_wrong_name" not in visible_tests(page)
    page.get_by_title("test_sample.py::test_broken").click()
    page.get_by_role("heading", name="test_sample.py::test_broken").wait_for()
    assert page.locator("#detail .error").count() == 0
    page.get_by_role("button", name="other run: failed").click()
    page.locator("#detail .error").wait_for()
    assert "to succeed" in page.locator("#detail .error").inner_text()


def test_hostile_text_stays_text(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.run, compare=sample.other))
    page.get_by_title("test_sample.py::test_hostile").click()
    page.locator(".command").first.wait_for()
    page.locator(TERM).wait_for()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert "<img src=x" in page.locator(".transcript").inner_text()
    assert "title" not in page.locator(".out").first.inner_text()
    assert shown.complaints == []


def test_page_asks_nobody_for_anything(sample: Sample, shown: Shown) -> None:
    path = write(sample.run, tutorial=sample.tutorial)
    page = shown.open(path, "#" + "test_sample.py%3A%3Atest_count")
    page.locator(TERM).wait_for()
    assert [url for url in shown.requests if not url.startswith(path.as_uri())] == []
    assert shown.complaints == []


def test_policy_stops_what_escaping_would_miss(sample: Sample, shown: Shown) -> None:
    """A second line: even markup that got in could neither run nor call anyone."""
    page = shown.open(write(sample.run))
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.pwned = 1";
            const image = document.createElement("img");
            image.src = "http://127.0.0.1:9/x.png";
            document.body.append(script, image);
        }"""
    )
    assert page.evaluate("window.pwned") is None
    assert any("Content Security Policy" in text for text in shown.complaints)


def test_it_opens_on_the_first_failure_with_its_message_on_top(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.other, tutorial=sample.tutorial))
    page.locator("#detail .error").wait_for()
    assert page.locator('.test[aria-current="true"] .name').inner_text() == "test_broken"
    error = page.locator("#detail .error")
    assert error.inner_text().startswith("AssertionError: ")
    assert "def test_broken" not in error.inner_text()
    boxes = [page.locator(f"#detail {each}").first.bounding_box() for each in (".error", ".command")]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] < boxes[1]["y"] < 900, "both are on the first screen"
    page.get_by_text("where it failed").click()
    assert "def test_broken" in page.locator(".whole").inner_text()


def test_what_is_chosen_meanwhile_stays(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.other, tutorial=sample.tutorial), "#test_sample.py%3A%3Atest_colours")
    page.get_by_role("heading", name="test_sample.py::test_colours").wait_for()
    page.get_by_title("test_sample.py::test_count").click()
    page.get_by_role("heading", name="test_sample.py::test_count").wait_for()


def test_skipped_tests_are_shown_with_their_reason_under_their_blocks(sample: Sample, shown: Shown) -> None:
    """Neither has come to cite anything; their source does."""
    page = shown.open(write(sample.run, tutorial=sample.tutorial))
    assert "2 skipped" in page.locator(".totals").inner_text()
    for name, block, reason in (
        ("test_print", "greet --print", "there is no printer here"),
        ("test_slug", "greet --aloud", "too loud for the night"),
    ):
        assert name in page.locator(".block", has_text=block).inner_text()
        page.get_by_title(f"test_sample.py::{name}").click()
        page.locator("#detail .error", has_text=reason).wait_for()


def test_a_recording_shows_its_screen_at_each_step(sample: Sample, shown: Shown) -> None:
    page = shown.open(write(sample.run, tutorial=sample.tutorial), "#test_sample.py%3A%3Atest_count")
    page.locator("figure").first.wait_for()
    told = page.locator("figcaption").all_inner_texts()
    screens = page.locator("figure .term").all_inner_texts()
    assert [text.partition(" ")[2] for text in told] == [
        "◆ Count in a terminal",
        "◆ counted",
        "⌨ enough\\r",
        "at the end",
    ]
    assert "number" not in screens[0]
    assert "number 3" in screens[1]
    assert "got enough" not in screens[1]
    assert "got enough" in screens[-1]
    page.locator("figure").nth(1).click()
    assert "got enough" not in page.locator(TERM).inner_text()


def test_it_is_usable_on_a_telephone(sample: Sample, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    page.set_default_timeout(15_000)
    page.goto(write(sample.other, tutorial=sample.tutorial).as_uri())
    page.locator("#detail .error").wait_for()
    assert page.locator("nav").is_hidden(), "the first failure takes the whole screen"
    page.get_by_text("‹ all tests").tap()
    assert page.locator("#detail").is_hidden()
    page.get_by_title("test_sample.py::test_count").tap()
    page.locator(TERM).wait_for()
    wide = "() => document.documentElement.scrollWidth"
    assert page.evaluate(wide) <= 390, "nothing is wider than the screen"
    box = page.locator(".play").bounding_box()
    assert box is not None
    assert box["height"] >= 36
    window = "element => element.scrollWidth - element.clientWidth"
    assert page.locator(".player > .window").evaluate(window) <= 4, "the terminal is as wide as the screen"
    page.close()
