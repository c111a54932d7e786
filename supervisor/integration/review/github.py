"""GitHub's REST API, as far as pull requests need it: one repository, bounded answers, errors that say what to do.

What may help when it is asked again has `again`, in seconds. A creation whose answer was lost may have happened:
who retries looks first.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from anyio import move_on_after

from supervisor import __version__
from supervisor.errors import DeviceFailed

TIMEOUT_SECONDS = 30.0
MOST_ANSWER = 16 * 2**20
MOST_REDIRECTS = 3
#: open pull requests that are looked through for an earlier one of ours
MOST_LISTED = 100


class GitHubFailed(DeviceFailed):
    def __init__(self, message: str, *, again: float | None = None, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        #: so many seconds from now it may work; None: it won't
        self.again = again
        #: of the answer, where it says that something is not there
        self.status = status


@dataclass(frozen=True, slots=True)
class PullRequest:
    number: int
    url: str
    branch: str
    body: str = ""
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class Draft:
    title: str
    body: str
    #: branches of the same repository
    branch: str
    into: str


class GitHub:
    def __init__(
        self,
        api_url: str,
        repository: str,
        token: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = f"{api_url.rstrip('/')}/repos/{repository}"
        self._repository, self._clock = repository, clock
        self._owner = repository.partition("/")[0]
        self._client = httpx.AsyncClient(
            timeout=timeout,
            follow_redirects=True,
            max_redirects=MOST_REDIRECTS,
            headers={
                "Authorization": f"Bearer {token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": f"agent-supervisor/{__version__}",
            },
        )

    async def __aenter__(self) -> "GitHub":
        return self

    async def __aexit__(self, *error: object) -> None:
        with move_on_after(TIMEOUT_SECONDS, shield=True):
            await self._client.aclose()

    async def default_branch(self) -> str:
        found = await self._asked("GET", "")
        return _text(found, "default_branch")

    async def has_branch(self, name: str) -> bool:
        try:
            await self._asked("GET", f"/branches/{quote(name, safe='')}")
        except GitHubFailed as failed:
            if failed.status == 404:
                return False
            raise
        return True

    async def of_branch(self, branch: str) -> PullRequest | None:
        """The pull request of a branch, open or not: who closed it wants no other."""
        query = {"head": f"{self._owner}:{branch}", "state": "all", "per_page": "10"}
        return next((each for each in await self._listed(query) if each.branch == branch), None)

    async def open_ones(self) -> list[PullRequest]:
        """The newest first; those from forks are none of ours."""
        return await self._listed({"state": "open", "sort": "created", "direction": "desc", "per_page": MOST_LISTED})

    async def pull_request(self, number: int) -> PullRequest:
        return _read(await self._asked("GET", f"/pulls/{number}"))

    async def amend(self, number: int, body: str) -> None:
        """Give it another text. GitHub has no way to say of which text it is a change."""
        await self._asked("PATCH", f"/pulls/{number}", {"body": body})

    async def create(self, draft: Draft) -> PullRequest:
        asked = {"title": draft.title, "body": draft.body, "head": draft.branch, "base": draft.into}
        try:
            made = await self._asked("POST", "/pulls", asked | {"draft": True})
        except GitHubFailed as failed:
            if "draft" not in failed.message.lower():
                raise
            made = await self._asked("POST", "/pulls", asked)  # a plan without drafts
        return _read(made)

    async def _listed(self, query: Mapping[str, str | int]) -> list[PullRequest]:
        found = await self._asked("GET", "/pulls", query=query)
        if not isinstance(found, list):
            raise GitHubFailed("GitHub's answer is no list", again=0)
        return [_read(each) for each in found if isinstance(each, dict) and self._is_ours(each)]

    def _is_ours(self, told: Mapping[str, Any]) -> bool:
        head = told.get("head")
        repo = head.get("repo") if isinstance(head, dict) else None
        name = repo.get("full_name") if isinstance(repo, dict) else None
        # A repository that was renamed answers under its old name, and calls itself by the new one.
        return isinstance(name, str) and name.partition("/")[0].lower() == self._owner.lower()

    async def _asked(
        self, method: str, path: str, content: object = None, *, query: Mapping[str, str | int] | None = None
    ) -> Any:
        try:
            async with self._client.stream(method, self._path + path, json=content, params=query) as response:
                text = await _bounded(response)
        except httpx.HTTPError as error:
            raise GitHubFailed(f"GitHub can't be reached: {str(error) or type(error).__name__}", again=0) from None
        try:
            told = json.loads(text)
        except ValueError:
            told = None
        if not response.is_success:
            raise self._refusal(response, told)
        if told is None:
            raise GitHubFailed("GitHub's answer is not JSON", again=0)
        return told

    def _refusal(self, response: httpx.Response, told: object) -> GitHubFailed:
        """Cases: too often; broken for now; who are you; nothing there for this token; anything else."""
        status, said = response.status_code, _said(told)
        wait = _wait(response.headers, self._clock())
        if status == 429 or (status == 403 and (wait is not None or "rate limit" in said.lower())):
            return GitHubFailed(f"GitHub was asked too often: {said}", again=wait if wait is not None else 60.0)
        if status >= 500 or status == 408:
            return GitHubFailed(f"GitHub answers {status}", again=wait or 0)
        if status == 401:
            return GitHubFailed("GitHub does not accept the token", hint="renew the credential")
        if status in (403, 404):
            hint = "the token needs to read and write contents and pull requests there"
            return GitHubFailed(
                f"GitHub lets the token do nothing in {self._repository}: {said}", hint=hint, status=status
            )
        # It may exist since just before: whoever looks again will find it.
        again = 0 if "already exists" in said else None
        return GitHubFailed(f"GitHub refuses it: {said}", again=again)


async def _bounded(response: httpx.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MOST_ANSWER:
            raise GitHubFailed("GitHub's answer is too large")
        parts.append(part)
    return b"".join(parts)


def _wait(headers: httpx.Headers, now: float) -> float | None:
    """As it asks for: in seconds, or until the limit's window ends."""
    try:
        if (after := headers.get("Retry-After")) is not None:
            return max(0.0, float(after))
        if headers.get("X-RateLimit-Remaining") == "0":
            return max(0.0, float(headers["X-RateLimit-Reset"]) - now)
    except (KeyError, ValueError):
        return None
    return None


def _said(told: object) -> str:
    """GitHub's own words: a message, and what is wrong with each field."""
    if not isinstance(told, dict):
        return "no reason given"
    errors = told.get("errors")
    listed = errors if isinstance(errors, list) else []
    more = [each["message"] for each in listed if isinstance(each, dict) and isinstance(each.get("message"), str)]
    line = "; ".join(str(part) for part in (told.get("message", ""), *more) if part)
    return "".join(char if char.isprintable() else " " for char in line)[:300] or "no reason given"


def _read(told: Any) -> PullRequest:
    head = told.get("head") if isinstance(told, dict) else None
    if not isinstance(head, dict) or not isinstance(told.get("number"), int):
        raise GitHubFailed("GitHub's answer is no pull request", again=0)
    body = told.get("body")
    text, is_open = body if isinstance(body, str) else "", told.get("state") == "open"
    return PullRequest(told["number"], _text(told, "html_url"), _text(head, "ref"), text, is_open)


def _text(told: Any, name: str) -> str:
    if not isinstance(told, dict) or not isinstance(told.get(name), str):
        raise GitHubFailed(f"GitHub's answer has no {name}", again=0)
    return str(told[name])
