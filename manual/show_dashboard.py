"""`make pictures`: the pictures of docs/dashboard.md, of a generated night in Chromium.

It is run by pytest, whose settings the harness of the tests needs.
"""

import json
import subprocess
import time
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.store import LogStore
from supervisor.model.attempt import AttemptKey
from tests.agent_clone import commit, git
from tests.dashboard.generated import BATCH, REPO, generated
from tests.dashboard.opened import a_browser, opened
from tests.dashboard.seen import seen

TARGET = Path(__file__).parents[1] / "docs" / "img"
BEFORE = "def total(prices):\n    return sum(prices[:-1])\n"
AFTER = "def total(prices):\n    return sum(prices)\n"
MESSAGE = "FIX_IMPL: count the last item, too\n\nThe total left it out, so an order of one item was free."
SAID = (
    ("say", "The test expects 120 and gets 12. I look at how the total is made."),
    ("tool", "Read shop/cart.py"),
    ("result", "def total(prices): return sum(prices[:-1])"),
    ("say", "The slice leaves out the last price. I mend that and run the test."),
    ("tool", "Bash: pytest tests/e2e -k total"),
    ("result", "4 passed in 1.92s"),
)


def a_fix(home: Path) -> tuple[Path, str, str]:
    """A repository, its base, and what an agent made of it."""
    repo = home / "shop"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, "first", cart__py=BEFORE)
    base = git(repo, "rev-parse", "HEAD")
    commit(repo, MESSAGE, cart__py=AFTER)
    return repo, base, git(repo, "rev-parse", "HEAD")


def keep(home: Path, repo: Path, key: AttemptKey) -> None:
    """What a daemon would have of it: its own copy of the repository, and the log of its agent."""
    state = home / "state"
    bare = GitStore(state).bare(Path(REPO))
    bare.parent.mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(repo), str(bare)], check=True)
    rows = [
        {"at": f"2026-01-05T03:2{n}:0{n}Z", "attempt": 1, "source": "events", "kind": kind, "text": text, "data": {}}
        for n, (kind, text) in enumerate(SAID)
    ]
    LogStore(Layout(state)).append(key, b"".join(json.dumps(row).encode() + b"\n" for row in rows))


async def test_pictures_of_the_dashboard(tmp_path: Path) -> None:
    repo, base, head = a_fix(tmp_path)
    world = generated(time.time(), base=base, head=head)
    doubted = next(n for n, job in sorted(world.state.batches[BATCH].touched.items()) if job.verdict.doubts)
    keep(tmp_path, repo, AttemptKey(BATCH, doubted, 1))
    async with seen(tmp_path, world) as there, a_browser() as browser, opened(there, browser) as shown:
        page = shown.page
        await page.locator('[data-now="tokens"]', has_text="G").wait_for()
        await page.locator("dd", has_text="–").first.wait_for(state="detached")
        await page.screenshot(path=TARGET / "dashboard.png")
        await page.goto(f"{there.origin}/jobs/{BATCH}.{doubted}")
        await page.locator(".log li", has_text="4 passed").wait_for()
        await page.screenshot(path=TARGET / "dashboard-job.png")
