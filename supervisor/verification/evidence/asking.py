"""All questions about a claim, in order: the first that refuses it is the last that is asked."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from supervisor.model.evidence import Evidence, Necessity, Reach, Strength
from supervisor.verification.evidence import ignorance, necessity, newcomers, reach, strength
from supervisor.verification.evidence.inquiry import Inquiry, Shown

#: each knows what those before it have seen
QUESTIONS: tuple[Callable[[Inquiry], Awaitable[Shown]], ...] = (
    ignorance.ask,
    reach.ask,
    strength.ask,
    newcomers.ask,
    necessity.ask,
)


@dataclass(frozen=True, slots=True)
class Findings:
    evidence: Evidence
    doubts: tuple[str, ...] = ()
    refusal: str = ""
    settled: frozenset[str] = frozenset()


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
