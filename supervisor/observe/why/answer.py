"""The parts of an answer, and the causes that programs can tell apart."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

type Kind = Literal["job", "batch", "pool"]


class Cause(StrEnum):
    """Stable names: causes may be added, never renamed."""

    # what keeps a job from being launched
    QUEUE_PAUSED = "queue-paused"
    BATCH_PAUSED = "batch-paused"
    BUDGET = "budget"
    PROVIDER_REFUSES = "provider-refuses"
    POLICY = "policy"
    BREAKER = "breaker"
    BROKEN_BASE = "broken-base"
    WINDOW = "window"
    CANARIES = "canaries"
    BATCH_SLOTS = "batch-slots"
    ACCOUNT = "account"
    POOL_GONE = "pool-gone"
    POOL_CLOSED = "pool-closed"
    POOL_RESTS = "pool-rests"
    POOL_FULL = "pool-full"
    POOL_LINGERS = "pool-lingers"
    LAUNCH_RATE = "launch-rate"
    OTHERS_FIRST = "others-first"
    BACK_OFF = "back-off"
    SURVEY_FIRST = "survey-first"
    SIBLING = "sibling"
    NEXT = "next"
    # what an agent is at
    LAUNCHING = "launching"
    WORKING = "working"
    QUIET = "quiet"
    WRAPPING_UP = "wrapping-up"
    HINDERED = "hindered"
    PARKED = "parked"
    CANCELLING = "cancelling"
    # what its work is at
    COLLECTING = "collecting"
    RESCUING = "rescuing"
    RELEASING = "releasing"
    RETRYING = "retrying"
    GATHERING = "gathering"
    VERIFY_SLOTS = "verify-slots"
    VERIFYING = "verifying"
    SETTLING = "settling"
    # how it ended
    ENDED = "ended"
    CANCELLED = "cancelled"
    AWAITS_INTEGRATION = "awaits-integration"
    LEDGER = "ledger"
    # what a batch is at
    SURVEYING = "surveying"
    JOBS_AT_WORK = "jobs-at-work"
    INTEGRATING = "integrating"
    INTEGRATION_FAILED = "integration-failed"
    JUDGEMENT = "judgement"
    PARTIAL = "partial"
    PROBLEM = "problem"
    FINISHED = "finished"
    # what a pool is at
    ROOM = "room"
    HOSTS_AVOIDED = "hosts-avoided"


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that holds a subject in its state, in whole sentences."""

    cause: Cause
    text: str
    #: what would change it; "": it ends by itself, or never
    change: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    subject: str
    kind: Kind
    state: str
    #: where it is: a whole sentence
    where: str
    reasons: tuple[Reason, ...]

    @property
    def text(self) -> str:
        said = [self.where]
        for reason in self.reasons:
            said += [reason.text, reason.change]
        return " ".join(dict.fromkeys(sentence for sentence in said if sentence))

    @property
    def data(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "kind": self.kind,
            "state": self.state,
            "why": self.text,
            "where": self.where,
            "reasons": [{"cause": each.cause, "text": each.text, "change": each.change} for each in self.reasons],
        }
