"""The page in a real browser: it shows what there is, asks nobody for anything, and agents' words stay words."""

import shutil
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from supervisor.model.publication import ChangeClaim, Escalation, Statement, TestRun
from supervisor.observe.report import JobReport, Report
from supervisor.observe.report_html import TAGS, html, markdown
from tests.observe.night import BLOCKED, DOUBT, FIXED, OUTCOMES, REFUSED, Files, Night, a_night

EVIL = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "<svg/onload=window.pwned=1>",
    "[click](javascript:window.pwned=1)",
    "[click](JaVaScRiPt&colon;window.pwned=1)",
    "[data](data:text/html,<script>window.pwned=1</script>)",
    "![pixel](http://127.0.0.1:1/pixel.png)",
    "<http://127.0.0.1:1/\"onmouseover='window.pwned=1'>",
    "<iframe src='http://127.0.0.1:1/'></iframe>",
    "</div></details></main><style>*{display:none}</style><base href='http://127.0.0.1:1/'>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:1/'>",
    "<a href='#' onclick='window.pwned=1' style='position:fixed;inset:0' id=top name=x class=page>x</a>",
    "<form action='http://127.0.0.1:1/'><button>Go</button></form>",
    "{{ report.batch.repo }} {% raw %} ${7*7}",
    "```html\n<script>window.pwned = 1</script>\n```",
    "| a | b |\n|---|---|\n| <b onclick=x>1</b> | 2 |",
    "[ref]: javascript:window.pwned=1\n\n[ref]",
    "\u202e\u2066reversed\x00\x1b[31m",
]
ALL_EVIL = "\n\n".join(EVIL)


@dataclass(slots=True)
class Shown:
    """An open page, and everything that it asked for or complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: Path) -> Page:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(path.as_uri())
        return self.page


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
    page = browser.new_page()
    page.set_default_timeout(20_000)
    yield Shown(page)
    page.close()


class Tags(HTMLParser):
    """Every element of a text, with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def written(folder: Path, report: Report) -> Path:
    path = folder / "report.html"
    path.write_text(html(report), encoding="utf-8")
    return path


def hostile() -> Report:
    """Whatever an agent can say, it says in the worst way; so do the names of tests and of files."""
    evil = Statement(
        (ChangeClaim(EVIL[0], "SUCCEEDED", ALL_EVIL),),
        summary=ALL_EVIL,
        test_runs=(TestRun(EVIL[1], ALL_EVIL),),
        escalations=(Escalation(EVIL[9], EVIL[2], ALL_EVIL, tuple(EVIL)),),
    )
    told = {FIXED: evil, REFUSED: evil, BLOCKED: replace(evil, blocked=ALL_EVIL)}
    report = a_night().report(Files(OUTCOMES | told))

    def spoilt(job: JobReport) -> JobReport:
        return replace(job, test=EVIL[9], artifacts=tuple(EVIL), excerpt=tuple(EVIL), detail=EVIL[0], model=EVIL[1])

    facts = replace(report.batch, pull_request="javascript:window.pwned=1", branch=EVIL[0], repo=EVIL[9])
    return replace(report, batch=facts, jobs=tuple(map(spoilt, report.jobs)), problems=tuple(EVIL))


def test_nothing_that_an_agent_wrote_does_anything(shown: Shown, tmp_path: Path) -> None:
    path = written(tmp_path, hostile())
    page = shown.open(path)
    for details in page.locator("details").all():
        details.evaluate("each => { each.open = true }")
    for link in page.locator("a:not([href^='#'])").all():
        assert (link.get_attribute("href") or "").startswith("http"), link.inner_html()
    page.mouse.move(300, 300)
    assert page.evaluate("window.pwned") is None
    assert page.locator("script, img, svg, iframe, form, base, style >> nth=1").count() == 0
    assert page.locator(".page").count() == 1
    assert (shown.requests, shown.complaints) == ([path.as_uri()], [])
    assert "window.pwned = 1" in page.locator("main").inner_text()


def test_the_page_shows_what_came_of_each_job(shown: Shown, tmp_path: Path) -> None:
    report = a_night().report()
    page = shown.open(written(tmp_path, report))
    assert page.title() == "Batch b: finished"
    assert [page.locator(f"[id='{job.id}']").count() for job in report.jobs] == [1] * len(report.jobs)
    job = page.locator("[id='b.1']")
    job.locator("summary").click()
    assert "failed before, passed 2 of 2 runs after" in job.inner_text()
    assert job.locator(".body > *").nth(1).inner_text() == DOUBT.replace("`", "")
    assert "reaches 9 lines (8 before); catches 6 of 6 faults; needs shop.py" in job.inner_text()
    assert job.locator(".said strong").inner_text() == "was"
    assert job.locator(".said code").first.inner_text() == "12"
    page.locator("nav a[href='#failed']").click()
    assert page.locator("#failed").is_visible()
    assert shown.complaints == []


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_the_page_fits_its_window(shown: Shown, tmp_path: Path, width: int) -> None:
    shown.page.set_viewport_size({"width": width, "height": 900})
    page = shown.open(written(tmp_path, hostile()))
    for details in page.locator("details").all():
        details.evaluate("each => { each.open = true }")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_batch_that_has_just_begun_has_a_page_too() -> None:
    assert "It is not over" in html(Night().report(Files({})))


@pytest.mark.parametrize("text", EVIL)
def test_markdown_is_plain_formatting_and_nothing_else(text: str) -> None:
    tags = Tags()
    tags.feed(markdown(text))
    assert {tag for tag, _ in tags.found} <= TAGS
    for tag, attributes in tags.found:
        assert attributes.keys() <= ({"href", "rel"} if tag == "a" else set())
        assert attributes.get("href", "http://").startswith(("http://", "https://"))
