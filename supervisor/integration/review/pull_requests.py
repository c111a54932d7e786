"""Offers a batch's branch for review: pushed to the configured remote, and a draft pull request at GitHub.

Theory of operation. Each try starts from nothing: is there a pull request of this branch? If so, that is it. Else the
branch is pushed (again is fine), and the pull request made. So a try whose answer was lost, a daemon that was killed
and one that is asked twice all come to the same one. What may help is tried again with back-off, for as long as
`Patience` says and no sooner than GitHub wants; then the problem is told, and nothing else fails for it.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from anyio import sleep
from immutables import Map

from supervisor.adapters.git.store import GitStore
from supervisor.errors import GitFailed, Misconfigured, SupervisorError
from supervisor.integration.review import marks, offer
from supervisor.integration.review.github import Draft, GitHub, GitHubFailed, PullRequest
from supervisor.integration.review.pushing import Remote, empty_commit, push, remote_of
from supervisor.model.batch import Batch
from supervisor.observe import report_fold
from supervisor.observe.report import AttemptFiles, History, Report
from supervisor.ports import Integration, Integrator, Judgement
from supervisor.ports.review import Offer, PullRequests
from supervisor.threads import in_thread

log = structlog.get_logger()

LANDED = "supervisor/"

_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long it is tried."""

    seconds: float = 900.0
    first: float = 2.0
    longest: float = 120.0


@dataclass(frozen=True, slots=True)
class Where:
    """As configured."""

    api_url: str
    #: asked each time: a credential may be renewed
    token: Callable[[], str]
    remote: str = "origin"
    #: `owner/name` by profile, where the remote's URL does not say it
    repositories: Mapping[str, str] | None = None
    #: the branch to merge into; "": the repository's own
    base: str = ""

    def trusts(self, remote: Remote) -> bool:
        """Whether the token may be sent there: to the host of the API, or to the one it speaks for."""
        api = (urlsplit(self.api_url).hostname or "").lower()
        return remote.host in (api, api.removeprefix("api.")) and (
            remote.url.startswith("https://") or remote.host in ("127.0.0.1", "localhost")
        )


def credential(directory: Path | None, said: str) -> str:
    """What `credential:NAME` stands for."""
    name = said.removeprefix("credential:")
    try:
        if directory is None or "/" in name:
            raise FileNotFoundError(None, "there is no directory of credentials")
        return (directory / name).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Misconfigured(f"the credential {name} can't be read: {why}") from None


class OfferedForReview:
    """An integrator whose branches are offered for review."""

    def __init__(self, integrator: Integrator, pull_requests: PullRequests) -> None:
        self._integrator, self._pull_requests = integrator, pull_requests

    async def integrate(self, batch: Batch, number: int) -> Integration | Judgement:
        made = await self._integrator.integrate(batch, number)
        if isinstance(made, Judgement):
            return made
        integrated = replace(batch, ledger=Map(made.ledger), result=replace(batch.result, branch=made.branch))
        offer = await self._pull_requests.open(integrated, made.head)
        return replace(made, pull_request=offer.pull_request, problems=(*made.problems, *offer.problems))


class GitHubPullRequests:
    def __init__(
        self,
        where: Where,
        store: GitStore,
        files: Callable[[], AttemptFiles],
        *,
        patience: Patience | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._where, self._store, self._files = where, store, files
        self._patience, self._timeout = patience or Patience(), timeout

    async def open(self, batch: Batch, head: str) -> Offer:
        try:
            report = await in_thread(self._report, batch)
            if not offer.is_worth_it(report):
                return Offer()
            return Offer((await self._patiently(batch, report, head)).url)
        except (SupervisorError, OSError) as failed:
            log.warning("no pull request was opened", batch=batch.id, why=str(failed))
            hint = f" ({failed.hint})" if isinstance(failed, SupervisorError) and failed.hint else ""
            return Offer(problems=(f"no pull request was opened: {failed}{hint}",))

    def _report(self, batch: Batch) -> Report:
        return report_fold.report(batch, History(), report_fold.kept(self._files(), batch), time.time())

    async def _patiently(self, batch: Batch, report: Report, head: str) -> PullRequest:
        patience, wait = self._patience, self._patience.first
        deadline = time.monotonic() + patience.seconds
        remote = await remote_of(Path(batch.repo), self._where.remote)
        while True:
            try:
                return await self._opened(batch, report, head, remote)
            except (GitHubFailed, GitFailed) as failed:
                again = failed.again if isinstance(failed, GitHubFailed) else _push_again(failed)
                if again is None or time.monotonic() + max(again, wait) > deadline:
                    raise
                log.info("GitHub is asked again", batch=batch.id, why=str(failed), seconds=max(again, wait))
            await sleep(max(again, wait))
            wait = min(2 * wait, patience.longest)

    async def _opened(self, batch: Batch, report: Report, head: str, remote: Remote) -> PullRequest:
        branch = batch.result.branch or _unlanded(batch)
        token = self._where.token()
        repository = self._repository(batch, remote)
        async with GitHub(self._where.api_url, repository, token, timeout=self._timeout) as github:
            if (there := await github.of_branch(branch)) is not None:
                return there
            into = self._where.base or await _submitted_from(batch, github) or await github.default_branch()
            await self._pushed(batch, head, branch, remote)
            body = offer.body(report, _superseded(await github.open_ones(), batch))
            return await github.create(Draft(offer.title(report), body, branch, into))

    def _repository(self, batch: Batch, remote: Remote) -> str:
        found = (self._where.repositories or {}).get(batch.profile.name) or remote.repository
        if not _REPOSITORY.fullmatch(found):
            hint = f"name it as [github] repositories, such as {{ {batch.profile.name} = 'owner/name' }}"
            raise Misconfigured("the remote's URL does not say which repository of GitHub it is", hint=hint)
        return found

    async def _pushed(self, batch: Batch, head: str, branch: str, remote: Remote) -> None:
        """Where nothing was merged, an empty commit: GitHub wants a difference."""
        bare = self._store.bare(Path(batch.repo))
        if head in ("", batch.base):
            message = f"Batch {batch.id}: nothing was merged, and something was escalated\n"
            head = await empty_commit(bare, batch.base, message, batch.created_at)
        token = self._where.token() if self._where.trusts(remote) else ""
        await push(bare, remote, head, branch, token)


async def _submitted_from(batch: Batch, github: GitHub) -> str:
    """The branch that the batch started from, if it is known there, too."""
    start = batch.origin.branch
    return start if start and await github.has_branch(start) else ""


def _push_again(failed: GitFailed) -> float | None:
    """A branch of that name with other work is never overwritten; anything else may be a matter of time."""
    refused = ("rejected", "non-fast-forward", "failed to push some refs", "denied", "not found", "uthentication")
    return None if any(word in failed.message for word in refused) else 0.0


def _unlanded(batch: Batch) -> str:
    """The name of a branch that is not in a person's repository: no other integration of the batch has it."""
    return f"{LANDED}{batch.id}" if batch.integrations.count < 2 else f"{LANDED}{batch.id}-{batch.integrations.count}"


def _superseded(found: list[PullRequest], batch: Batch) -> offer.Superseded | None:
    """The newest of the same profile: of this batch it is a partial one, for this branch has none."""
    for each in found:
        if (known := marks.marked(each.body)) is not None and each.branch.startswith(LANDED):
            profile, of_batch = known
            if profile == batch.profile.name:
                return offer.Superseded(each.number, of_batch == batch.id)
    return None
