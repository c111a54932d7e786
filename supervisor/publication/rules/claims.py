"""What an agent's own report comes to, as an outcome. A claim: verification has the last word."""

from supervisor.model.outcome import Outcome
from supervisor.model.publication import Outcome as Report


def claimed(report: Report, commits: int) -> tuple[Outcome, str]:
    """The outcome that is claimed, and one sentence on it. What was claimed and not committed is no work."""
    if report.blocked:
        return Outcome.BLOCKED, report.blocked
    if report.errored:
        return Outcome.FAILED, report.summary or "the agent gave up"
    kinds = report.succeeded_kinds
    if kinds and not commits:
        return Outcome.FAILED, f"claims {', '.join(kinds)} and has committed nothing"
    if any(kind.startswith("FIX_") for kind in kinds):
        return Outcome.FIXED, report.summary
    if kinds:
        return Outcome.IMPROVED, report.summary
    if report.tests_passing_after is False:
        return Outcome.FAILED, report.summary or "its test still fails"
    return Outcome.CLEAN, report.summary
