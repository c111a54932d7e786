"""Which pull requests of ours still wait for their review."""

from pathlib import Path

from supervisor.integration.review import marks
from supervisor.integration.review.github import GitHub
from supervisor.integration.review.pull_requests import LANDED, Where
from supervisor.integration.review.pushing import remote_of


async def waiting(where: Where, repo: Path, profile: str) -> str:
    """The URL of the newest open pull request of a profile; "": there is none. Raises SupervisorError."""
    remote = await remote_of(repo, where.remote)
    repository = (where.repositories or {}).get(profile) or remote.repository
    async with GitHub(where.api_url, repository, where.token()) as github:
        for each in await github.open_ones():
            known = marks.marked(each.body) if each.branch.startswith(LANDED) else None
            if known is not None and known[0] == profile:
                return each.url
    return ""
