"""A page in Chromium, and everything that it asked for or complained about."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.dashboard.seen import Seen

AXE = Path(__file__).with_name("axe") / "axe.min.js"
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
#: what browsers say when they leave a page whose stream is open
ABORTED = "net::ERR_ABORTED"


@dataclass(slots=True)
class Opened:
    page: Page
    context: BrowserContext
    origin: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def elsewhere(self) -> list[str]:
        """Requests to anybody but the daemon."""
        return [url for url in self.requests if not url.startswith((self.origin, "about:"))]

    async def axe(self) -> list[str]:
        """What axe finds on the page as it is. Its script comes past the page's policy, by the debugger."""
        await self.page.evaluate(AXE.read_text())
        found: dict[str, Any] = await self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [f"{each['id']}: {[node['html'][:200] for node in each['nodes'][:3]]}" for each in found["violations"]]


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "Debian's chromium is needed: BOOTSTRAP_TESTS=1 scripts/bootstrap installs it"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def opened(there: Seen, browser: Browser, origin: str = "", **options: Any) -> AsyncIterator[Opened]:
    """Logged in, on the first page. `origin`: where the browser finds the daemon, if not at its own port."""
    options.setdefault("viewport", {"width": 1440, "height": 900})
    context = await browser.new_context(**options)
    context.set_default_timeout(20_000)
    page = await context.new_page()
    shown = Opened(page, context, origin or there.origin)
    page.on("request", lambda request: shown.requests.append(request.url))
    page.on("console", lambda message: shown.complaints.append(message.text))
    page.on("pageerror", lambda error: shown.complaints.append(str(error)))
    page.on("dialog", lambda dialog: shown.complaints.append(dialog.message))
    try:
        await page.goto(f"{shown.origin}/login?token={there.token()}")
        await page.wait_for_url(lambda url: not urlsplit(url).path.startswith("/login"))
        yield shown
    finally:
        await context.close()
