"""Asks all questions about a claim in order, until one of them refuses it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from supervisor.model.batch import Batch
from supervisor.model.evidence import Evidence, Necessity, Reach, Strength
from supervisor.model.job import Job
from supervisor.threads import in_thread
from supervisor.verification.evidence import conduct, equality, ignorance, necessity, newcomers, reach, strength
from supervisor.verification.evidence.contents import contents, names
from supervisor.verification.evidence.facts import refusals
from supervisor.verification.evidence.inquiry import Inquiry, Shown, Unanswered
from supervisor.verification.trials.asking import Place
from supervisor.verification.trials.runs import Run

#: in order: each uses what those before it have seen
QUESTIONS: Mapping[str, Callable[[Inquiry], Awaitable[Shown]]] = {
    "ignorance": ignorance.ask,
    "reach": reach.ask,
    "conduct": conduct.ask,
    "equality": equality.ask,
    "strength": strength.ask,
    "newcomers": newcomers.ask,
    "necessity": necessity.ask,
}
#: the questions whose results are a part of the evidence
PARTS = {"reach": Reach, "strength": Strength, "necessity": Necessity}


@dataclass(frozen=True, slots=True)
class Findings:
    evidence: Evidence
    doubts: tuple[str, ...] = ()
    refusal: str = ""
    settled: frozenset[str] = frozenset()
    #: whether the test failed without the work, or without a part of it; None: it was not tried
    fails_without: bool | None = None
    #: whether it failed when nothing but notes were taken
    fails_watched: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """What is asked about: the work of a job, in a trial."""

    batch: Batch
    job: Job
    trial: Place
    #: our copy of the repository
    bare: Path
    #: the files that the work changes
    paths: tuple[str, ...]
    #: whether other claims' experiments may be in the checkouts of its own
    is_shared: bool = False


def certain(test: str, before: Run | None, runs: list[Run], after: Run | None) -> list[str]:
    """What the plain runs show by themselves; this refuses a claim without any question."""
    return list(refusals(test, before, runs, after))


async def ask_all(
    claim: Claim, runs: list[Run], before: Run | None, after: Run | None, doubted: frozenset[str] = frozenset()
) -> Findings:
    """`before` and `after`: runs of the test's file; `doubted`: the questions that can settle policy's doubts."""
    found, inquiry = Findings(Evidence()), await in_thread(_opened, claim, runs, before, after, doubted)
    for name, question in QUESTIONS.items():
        try:
            shown = await question(inquiry)
        except Unanswered as why:
            part = PARTS.get(name)
            shown = Shown(part(not_tried=str(why)) if part else None, (f"{name} could not be shown: {why}",))
        found = Findings(
            _with(found.evidence, shown.evidence),
            (*found.doubts, *shown.doubts),
            shown.refusal,
            found.settled | set(shown.settles),
            inquiry.fails_without,
            inquiry.fails_watched,
        )
        if shown.refusal:
            break
    return found


def _opened(claim: Claim, runs: list[Run], before: Run | None, after: Run | None, doubted: frozenset[str]) -> Inquiry:
    return Inquiry(
        claim.batch,
        claim.job,
        claim.trial,
        runs,
        file_before=before,
        file_after=after,
        base=contents(claim.bare, claim.batch.base, claim.paths),
        files=names(claim.bare, claim.job.brought.head),
        bare=claim.bare,
        is_shared=claim.is_shared,
        doubted=doubted,
    )


def _with(evidence: Evidence, shown: Reach | Strength | Necessity | None) -> Evidence:
    match shown:
        case Reach():
            return replace(evidence, reach=shown)
        case Strength():
            return replace(evidence, strength=shown)
        case Necessity():
            return replace(evidence, necessity=shown)
    return evidence
