"""The feed is for who is logged in, and leads to the pages."""

from pathlib import Path

from tests.dashboard.seen import seen
from tests.dashboard.test_door import a_world
from tests.observe.atom import ATOM, checked


async def test_the_feed_needs_a_session_and_its_links_lead_to_pages(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there:
        async with there.browser() as stranger:
            assert (await stranger.get("/feed.atom")).status_code == 401
        async with there.logged_in() as client:
            answer = await client.get("/feed.atom")
            assert answer.headers["content-type"] == "application/atom+xml"
            links = [each.get("href") for each in checked(answer.content).findall(f"{ATOM}link")]
            assert links == [f"{there.origin}/feed.atom", f"{there.origin}/"]
            assert 'href="/feed.atom"' in (await client.get("/")).text
