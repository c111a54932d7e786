"""All questions about a claim, in order: the first that refuses it is the last that is asked."""

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from supervisor.adapters.judging.evidence import ignorance, necessity, reach, strength
from supervisor.adapters.judging.evidence.inquiry import Inquiry, Shown
from supervisor.flow.judged import Doubt
from supervisor.model.evidence import Evidence, Necessity, Reach, Strength

#: each knows what those before it have seen
QUESTIONS: tuple[Callable[[Inquiry], Awaitable[Shown]], ...] = (
    ignorance.ask,
    reach.ask,
    strength.ask,
    necessity.ask,
)


#: what a run can't hide: the processes around it
_NOT_HIDDEN = re.compile(r"who started it|/proc")


@dataclass(frozen=True, slots=True)
class Findings:
    evidence: Evidence
    doubts: tuple[str, ...] = ()
    refusal: str = ""
    settled: frozenset[str] = frozenset()


def remaining(doubts: Iterable[Doubt], settled: frozenset[str]) -> tuple[str, ...]:
    """Doubts of policy that no run has settled."""
    return tuple(each.sentence for each in doubts if not _is_settled(each, settled))


def _is_settled(doubt: Doubt, settled: frozenset[str]) -> bool:
    if doubt.settled_by == "necessity":
        return any(doubt.sentence.startswith(f"{path} ") for path in settled)
    if doubt.settled_by == "ignorance" and _NOT_HIDDEN.search(doubt.sentence):
        return False
    return doubt.settled_by in settled


async def ask_all(inquiry: Inquiry) -> Findings:
    found = Findings(Evidence())
    for question in QUESTIONS:
        shown = await question(inquiry)
        found = Findings(
            _with(found.evidence, shown.evidence),
            (*found.doubts, *shown.doubts),
            shown.refusal,
            found.settled | set(shown.settles),
        )
        if shown.refusal:
            break
    return found


def _with(evidence: Evidence, shown: Reach | Strength | Necessity | None) -> Evidence:
    match shown:
        case Reach():
            return replace(evidence, reach=shown)
        case Strength():
            return replace(evidence, strength=shown)
        case Necessity():
            return replace(evidence, necessity=shown)
    return evidence
