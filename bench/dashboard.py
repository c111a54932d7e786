"""The dashboard in Chromium on a generated night: 10,000 jobs, 300 agents at work.

    python -m bench.dashboard [--jobs 10000] [--agents 300] [--minutes 0.5]

Beside each number is its floor: what the same browser takes for a page of one line, what the same loop lags without
anybody who looks. `--minutes 20` shows whether the memory of the page stays where it is.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count, cycle
from pathlib import Path

from playwright.async_api import Browser, Page

from bench.lateness import loop_lags
from supervisor.model import event as ev
from tests.dashboard.generated import generated
from tests.dashboard.opened import a_browser, opened
from tests.dashboard.seen import Seen, seen

PAINT = """() => new Promise((known) => new PerformanceObserver((list) => known(list.getEntries()[0].startTime))
    .observe({type: "paint", buffered: true}))"""
#: the longest time between two frames while the page is scrolled through
SCROLL = """async () => {
    const gaps = []; let last = performance.now();
    for (let at = 0; at < 90; at++) {
        scrollTo(0, (document.documentElement.scrollHeight - innerHeight) * at / 90);
        const now = await new Promise(requestAnimationFrame); gaps.push(now - last); last = now;
    }
    return gaps.slice(1).sort((a, b) => a - b);
}"""
LOOKERS, LAG_SECONDS, EVENTS_A_SECOND = 10, 8.0, 20
ROUNDS = 5
#: they only ever grow
TOKENS = count(500_000)


def say(what: str, number: float, unit: str, floor: str = "") -> None:
    print(f"  {what:<44} {number:>9.1f} {unit:<4} {floor}", flush=True)


async def paints(there: Seen, browser: Browser) -> None:
    ours, plain = [], []
    for _ in range(ROUNDS):
        async with opened(there, browser) as shown:
            await shown.page.goto(there.origin)
            ours.append(float(await shown.page.evaluate(PAINT)))
            await shown.page.goto(f"{there.origin}/login")
            plain.append(float(await shown.page.evaluate(PAINT)))
    floor = f"a page of a few lines: {statistics.median(plain):.0f} ms"
    say("first paint, median", statistics.median(ours), "ms", f"{floor}; wanted: under 1000")


async def on_screen(there: Seen, page: Page) -> None:
    """From the moment an event is told to the loop until it can be read."""
    took = []
    batches = there.state.batches
    live = [each.key for each in there.state.attempts.values() if each.stage == "live"]
    keys = cycle([key for key in live if batches[key.batch].job(key.job).state == "running"])
    for number in range(ROUNDS * 2):
        key, asked = next(keys), f"question {number} of the bench"
        began = time.monotonic()
        there.happens(ev.JobParked(there.desk.clock(), *key, question=asked))
        await page.locator("#happened", has_text=asked).wait_for()
        took.append(1000 * (time.monotonic() - began))
        there.happens(ev.JobUnparked(there.desk.clock(), *key))
    say("an event on screen, median", statistics.median(took), "ms", "wanted: under 1000")
    say("an event on screen, worst", max(took), "ms")


async def busy(there: Seen) -> None:
    """Agents use tokens, as they always do."""
    keys = cycle([each.key for each in there.state.attempts.values() if each.stage == "live"])
    for key in keys:
        there.happens(ev.UsageCounted(there.desk.clock(), *key, input=next(TOKENS), tool_calls=1))
        await asyncio.sleep(1 / EVENTS_A_SECOND)


@asynccontextmanager
async def going(*what: asyncio.Task[None]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for task in what:
            task.cancel()
        await asyncio.gather(*what, return_exceptions=True)


async def lag(there: Seen) -> float:
    """The 99th percentile of the loop's lag, in ms."""
    lags: list[float] = []
    async with going(asyncio.create_task(busy(there)), asyncio.create_task(loop_lags(lags, 0.002))):
        await asyncio.sleep(LAG_SECONDS)
    return 1000 * statistics.quantiles(lags, n=100)[98]


#: reads streams in a process of its own, because it would take the time of the loop that is measured
LOOK = """
import http.client, sys, threading
def look(port, path, cookie):
    there = http.client.HTTPConnection("127.0.0.1", port)
    there.request("GET", path, headers={"Cookie": cookie})
    answer = there.getresponse()
    while answer.read1(65536):
        pass
for cookie in sys.argv[3:]:
    threading.Thread(target=look, args=(int(sys.argv[1]), sys.argv[2], cookie), daemon=True).start()
sys.stdin.read()
"""


async def looked_at(there: Seen, batch: str) -> float:
    """The same with as many who look."""
    cookies = []
    for _ in range(LOOKERS):
        async with there.logged_in() as client:
            cookies += [f"{name}={value}" for name, value in client.cookies.items()]
    last = await there.journal.read(limit=1, newest=True)
    command = [sys.executable, "-c", LOOK, str(there.port), f"/batches/{batch}/live?after={last[-1].seq}", *cookies]
    looking = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
    await asyncio.sleep(8)
    found = await lag(there)
    await looking.communicate()
    return found


async def memory(there: Seen, page: Page, minutes: float) -> None:
    session = await page.context.new_cdp_session(page)

    async def used() -> float:
        await session.send("HeapProfiler.collectGarbage")
        found = await session.send("Runtime.getHeapUsage")
        return float(found["usedSize"]) / 2**20

    async with going(asyncio.create_task(busy(there))):
        await asyncio.sleep(5)
        first = await used()
        await asyncio.sleep(60 * minutes)
    say(f"memory of the page after {minutes:g} minutes", await used(), "MB", f"at its start: {first:.1f} MB")


async def measured(home: Path, jobs: int, agents: int, minutes: float) -> None:
    world = generated(time.time(), jobs=jobs, agents=agents)
    batch = next(iter(world.state.batches))
    async with seen(home, world) as there:
        alone = await lag(there)
        say(f"loop lag p99 with {LOOKERS} who look", await looked_at(there, batch), "ms", f"alone: {alone:.1f} ms")
        async with a_browser() as browser:
            await paints(there, browser)
            async with opened(there, browser) as shown:
                await shown.page.locator("#connection.live").wait_for()
                await on_screen(there, shown.page)
                gaps: list[float] = await shown.page.evaluate(SCROLL)
                say("between two frames while scrolling, p95", gaps[int(len(gaps) * 0.95)], "ms", "a frame: 16.7 ms")
                await memory(there, shown.page, minutes)
                print(f"  complaints: {shown.complaints}, requests elsewhere: {shown.elsewhere}")


def main() -> int:
    parser = argparse.ArgumentParser(description="The dashboard in a browser.")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=0.5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(measured(Path(home), asked.jobs, asked.agents, asked.minutes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
