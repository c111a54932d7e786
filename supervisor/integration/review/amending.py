"""Lets the text of a pull request say what was dropped from its branch.

It comes after the branch: what the branch of the pull request does not have any more is known, and the text is made
to agree with it. Each try starts from the text as it is, so a second one changes nothing, and one that a crash cut
short is made again. What may work later is tried again; what can't be done, a note says.
"""

import re
from dataclasses import replace

from supervisor.errors import SupervisorError
from supervisor.integration.review import marks
from supervisor.integration.review.github import GitHub, GitHubFailed
from supervisor.integration.review.marks import Dropped
from supervisor.integration.review.pull_requests import Where
from supervisor.model.review import Review
from supervisor.ports.review import Revised, Reviser

CLOSED = "the pull request is not open any more: its text is as it was"
UNMARKED = "the text of the pull request is as it was: the marks around the supervisor's part of it are not there"
TOO_LONG = "the text of the pull request is as it was: GitHub takes no more of it"

_ADDRESS = re.compile(r"/([\w-][\w.-]*/[\w-][\w.-]*)/pull/(\d{1,15})/?$")


class AmendingReviser:
    """A reviser whose pull requests say what was dropped."""

    def __init__(self, reviser: Reviser, where: Where, *, timeout: float = 30.0) -> None:
        self._reviser, self._where, self._timeout = reviser, where, timeout

    async def revise(self, review: Review) -> Revised:
        done = Revised(notes=review.notes, out_there=review.out_there)  # only the text may be due
        if review.due:
            done = await self._reviser.revise(review)
        is_news = bool(review.unsaid) or set(done.out_there) != set(review.out_there)
        return await self._said(review, done) if is_news and review.branch.pull_request else done

    async def _said(self, review: Review, done: Revised) -> Revised:
        try:
            note = await self._amend(review, done)
        except SupervisorError as failed:
            if isinstance(failed, GitHubFailed) and failed.again is not None:
                return replace(done, unsaid=str(failed), wait_seconds=failed.again)
            hint = f" ({failed.hint})" if failed.hint else ""
            note = f"the text of the pull request is as it was: {failed}{hint}"
        return replace(done, notes=(*done.notes, note)) if note else done

    async def _amend(self, review: Review, done: Revised) -> str:
        """Why it can't be done; "": it is."""
        if (found := _ADDRESS.search(review.branch.pull_request)) is None:
            return f"the text of the pull request is as it was: {review.branch.pull_request} is none of GitHub's"
        where, repository, number = self._where, found[1], int(found[2])
        async with GitHub(where.api_url, repository, where.token(), timeout=self._timeout) as github:
            offered = await github.pull_request(number)
            if not offered.is_open:
                return CLOSED
            try:
                text = marks.amended(offered.body, dropped(review, done), set(review.opinions) - set(done.out_there))
            except marks.Unmarked:
                return UNMARKED
            except marks.TooLong:
                return TOO_LONG
            if text != offered.body:
                await github.amend(number, text)
        return ""


def dropped(review: Review, done: Revised) -> list[Dropped]:
    """What the branch of the pull request does not have any more, in the order in which it was dropped."""
    said = [(review.opinions[sha], sha) for sha in done.out_there if sha in review.opinions]
    by = {**review.taken_out, **done.reverted}
    return [
        Dropped(sha, opinion.author, opinion.reason, by.get(sha, ""))
        for opinion, sha in sorted(said, key=lambda each: (each[0].at, each[1]))
    ]
