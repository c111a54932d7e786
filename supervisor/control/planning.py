"""What a batch would come to, before it is submitted: which tests become jobs, and what that costs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from supervisor.control.desk import Desk, TheDesk
from supervisor.control.looking import shape
from supervisor.control.plan_messages import Planned, Planning
from supervisor.control.rebuilding import events_of
from supervisor.errors import GitFailed, Refused
from supervisor.flow import window
from supervisor.flow.governor import accounts, spending
from supervisor.foresight import choosing
from supervisor.foresight.auditing import audit
from supervisor.foresight.choosing import Chosen, Reason
from supervisor.foresight.estimating import Budget, Means, Overheads, as_data, estimate
from supervisor.foresight.past import Before, last, last_well, read
from supervisor.foresight.reach import Code, changed
from supervisor.foresight.recording import record, verify_seconds
from supervisor.model.attempt import AttemptKey
from supervisor.model.price import MICRO, Price
from supervisor.model.profile import Profile
from supervisor.model.state import State
from supervisor.observe import snapshot
from supervisor.threads import in_thread

#: so many batches back is looked, and so many of a repository are read event by event
MOST_BATCHES, MOST_RECORDED = 50, 3

routes = APIRouter(tags=["look"])


@routes.post("/v1/plan", **shape(Planned))
async def plan(desk: TheDesk, asked: Planning) -> Response:
    """Which of these tests would become jobs, why the others would not, and what they would cost. Changes nothing."""
    profile, repo = desk.profile(asked.profile), Path(asked.repo)
    if asked.cases and len(asked.cases) != len(asked.tests):
        raise Refused("`cases` does not match `tests`", hint="give one number per test")
    past = await past_of(desk, str(repo))
    select, seed = asked.select or profile.select, asked.seed or asked.base[:12]
    chosen = await _chosen(desk, asked, profile, past, select=select, seed=seed)
    counted = dict(zip(asked.tests, asked.cases or [1] * len(asked.tests), strict=True))
    found = audit((each.test, each.failed_before) for each in past if each.audited)
    return JSONResponse(
        snapshot.answer(
            desk.clock(),
            jobs=len(chosen.tests),
            tests=list(chosen.tests),
            cases=[counted[test] for test in chosen.tests],
            select=select,
            seed=seed,
            skipped=[asdict(each) for each in chosen.skipped],
            audited=[test for test in chosen.tests if test in chosen.audited],
            selector={
                "run": found.run,
                "missed": list(found.missed),
                "miss_rate": found.rate,
                "told": found.sentence,
            },
            estimate=await _estimated(desk, asked, profile, chosen.tests, past),
        )
    )


async def _estimated(
    desk: Desk, asked: Planning, profile: Profile, tests: Sequence[str], past: Sequence[Before]
) -> Mapping[str, object] | None:
    state = accounts.known(desk.state(), profile)
    slots = asked.slots or sum(state.pools[name].slots for name in profile.pools if name in state.pools)
    if profile.slots and not asked.slots:
        slots = min(slots, profile.slots)
    budgets, prices = _budgets(state, profile, desk.clock())
    means = Means(slots, state.verifying.slots, budgets, prices, _window_seconds(profile))
    overheads = await _overheads(desk, past)
    return await in_thread(lambda: as_data(estimate(tests, past, means, overheads, profile.name)))


def _budgets(state: State, profile: Profile, now: float) -> tuple[tuple[Budget, ...], tuple[Price, ...]]:
    """Of the batch itself, then of the account that it would use first; and its prices, if it pays any."""
    found = [Budget("a batch", profile.budget_tokens)] if profile.budget_tokens else []
    names = accounts.names_of(profile)
    if not names:
        return tuple(found), ()
    account = state.accounts[names[0]]
    if profile.budget_dollars:
        found.append(Budget("a batch", round(profile.budget_dollars * MICRO), is_money=True))
    for limit in spending.limits(state, account, now):
        left = limit.most - limit.spent - limit.reserved
        found.append(Budget(limit.name, limit.most, limit.is_money, left))
    return tuple(found), state.budget.prices if account.spec.is_paid else ()


def _window_seconds(profile: Profile) -> float:
    if not profile.window:
        return 0.0
    opens, closes = (60 * each.hour + each.minute for each in window.parse(profile.window))
    return 60.0 * ((closes - opens) % (24 * 60))


async def _overheads(desk: Desk, past: Sequence[Before]) -> Overheads:
    """Of the last batches whose events are still kept."""
    verified, integrated = list[float](), list[float]()
    for batch in list(dict.fromkeys(each.batch for each in past))[:MOST_RECORDED]:
        events = await events_of(desk.journal, batch)
        if (found := await in_thread(record, events)) is not None:
            verified += verify_seconds(found.groups)
            integrated.append(sum(each.seconds for each in found.integrations))
    return Overheads(tuple(verified), tuple(integrated))


async def past_of(desk: Desk, repo: str) -> list[Before]:
    """What the last batches of the repository showed, newest first."""
    opened = [batch for batch in reversed(desk.state().in_order()) if batch.repo == repo]
    sealed = await desk.journal.sealed(limit=MOST_BATCHES)

    def look() -> list[Before]:
        found = [each for batch in opened for each in read(snapshot.summary(batch), snapshot.jobs(batch, 0)["rows"])]
        for each in sealed:
            summary: dict[str, Any] = json.loads(each.status)["batch"]
            if summary["repo"] == repo:
                found += read(summary, json.loads(each.jobs)["rows"])
        return found

    return await in_thread(look)


async def _chosen(
    desk: Desk, asked: Planning, profile: Profile, past: Sequence[Before], *, select: str, seed: str
) -> Chosen:
    chosen = Chosen(tuple(dict.fromkeys(asked.tests)))
    if select == "failed":
        chosen = chosen.without(choosing.only_failed(last(past)))
    elif select == "red":
        passing = set(asked.passing)
        chosen = chosen.without(lambda test: "it passes" if test in passing else "")
    if select == "changed" or asked.since:
        unchanged = await _unchanged(desk, asked, past)
        before, chosen = chosen, await in_thread(chosen.without, unchanged)
        skipped = [each for each in chosen.skipped if each.test in before.tests]
        chosen = choosing.audited(chosen, skipped, seed, profile.audit_share)
        chosen = choosing.in_order(chosen, asked.tests)
    if asked.sample:
        chosen = chosen.without(choosing.sampled(chosen.tests, asked.sample, seed))
    if asked.limit:
        chosen = chosen.without(choosing.limited(chosen.tests, asked.limit))
    return choosing.in_order(chosen, asked.tests)


async def _unchanged(desk: Desk, asked: Planning, past: Sequence[Before]) -> Reason:
    """Why a test need not go again."""
    repo, well = Path(asked.repo), last_well(past)
    now = await _code(desk, repo, asked.base)
    then = await _code(desk, repo, asked.since) if asked.since else None

    def reason(test: str) -> str:
        before = well.get(test)
        reached = (
            desk.known.reached(AttemptKey(before.batch, before.job, before.attempts)) if before is not None else None
        )
        if before is None or reached is None or changed(reached, now, then):
            return ""
        since = f"nothing that it reaches changed since batch {before.batch}, which left it {before.outcome}"
        return f"nothing that it reaches changed since {asked.since}" if then is not None else since

    return reason


async def _code(desk: Desk, repo: Path, rev: str) -> Code:
    try:
        return await desk.known.code(repo, rev)
    except (GitFailed, OSError, ValueError) as failed:
        hint = "give a branch or a commit, such as HEAD~1"
        raise Refused(f"{rev} is not a commit of {repo}", hint=hint) from failed
