"""How a plan is shown: the jobs, what is left out and why, and what they would cost."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from supervisor.cli.session import Session
from supervisor.cli.wanting import Wanted

#: so many tests that are left out for one reason are named
MOST_NAMED = 5


def show(here: Session, asked: Wanted, plan: dict[str, Any], data: dict[str, Any]) -> None:
    """`data`: what a program that reads `submit --json` finds there, too."""
    more = {key: value for key, value in plan.items() if key not in ("schema_version", "jobs")}
    here.show(data | more | {"per": asked.unit}, "\n".join(lines(asked, plan)))


def lines(asked: Wanted, plan: dict[str, Any]) -> Iterator[str]:
    audited = set(plan["audited"])
    for test, cases in zip(plan["tests"], plan["cases"], strict=True):
        notes = [f"{cases} cases"] if cases > 1 else []
        notes += ["to see whether the selector is right"] if test in audited else []
        yield f"{test}  ({'; '.join(notes)})" if notes else test
    if plan["skipped"]:
        yield ""
    yield from summary(asked, plan)


def summary(asked: Wanted, plan: dict[str, Any]) -> Iterator[str]:
    """The same without a line for each job."""
    if plan["skipped"]:
        yield from _skipped(plan["skipped"])
        yield ""
    if (told := plan["selector"]["told"]) and asked.select == "changed":
        yield f"so far the selector was {told}"
    said = counted(plan["tests"], plan["cases"], asked.unit)
    yield f"{said} would be submitted, from {asked.checkout['base'][:12]}{_besides(plan)}"
    yield from expected(plan)


def expected(plan: dict[str, Any]) -> Iterator[str]:
    """What it would cost, in a few lines."""
    from supervisor.observe.report_text import duration

    if not plan["jobs"]:
        return
    if (found := plan["estimate"]) is None:
        yield "what it would cost is not known: no batch has worked in this repository; `--sample 10` finds out"
        return
    tokens, seconds = found["tokens"], found["seconds"]
    spread = f"{compact(tokens['low'])} to {compact(tokens['high'])}"
    times = f"{duration(seconds['low'])} to {duration(seconds['high'])}"
    slots = "1 slot" if found["slots"] == 1 else f"{found['slots']} slots"
    guess = "a guess" if found["is_guess"] else "expected"
    yield f"{guess}: {compact(tokens['likely'])} tokens ({spread})"
    if (dollars := found["dollars"]) is not None:
        yield f"  ${dollars['likely']:,.2f} (${dollars['low']:,.2f} to ${dollars['high']:,.2f}) by the price table"
    yield f"  {duration(seconds['likely'])} ({times}) with {slots}"
    batches = "1 batch" if found["batches"] == 1 else f"{found['batches']} batches"
    known = f"{found['known_tests']} of {plan['jobs']} tests have been worked on before"
    yield f"  drawn from {found['samples']} earlier jobs of {batches}; {known}"
    if (advised := found["advised_slots"]) != found["slots"]:
        how = "advised" if advised > found["slots"] else "about as fast"
        yield f"  {how} with {advised} slot{'s' if advised > 1 else ''}: {duration(found['advised_seconds'])}"
    for budget in found["budgets"]:
        left = f", {budget['left_times']:.2g} with what is left" if budget["left_times"] < budget["times"] else ""
        yield f"  {budget['name']}: enough for {budget['times']:.2g} such batches{left}"


def compact(tokens: int) -> str:
    """`1.2M`, `40k`."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g}{unit}"
    return str(tokens)


def counted(tests: Sequence[str], cases: Sequence[int], unit: str) -> str:
    jobs, total = len(tests), sum(cases)
    said = "1 job" if jobs == 1 else f"{jobs} jobs"
    return said if total == jobs else f"{said} from {total} cases (one per {unit})"


def left_out(plan: dict[str, Any]) -> str:
    """One line for people."""
    reasons = Counter(_kind(each["why"]) for each in plan["skipped"])
    return "; ".join(f"{count} left out: {why}" for why, count in reasons.most_common())


def _besides(plan: dict[str, Any]) -> str:
    return f"; {len(plan['skipped'])} left out" if plan["skipped"] else ""


def _skipped(skipped: Sequence[dict[str, str]]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for each in skipped:
        by_reason.setdefault(each["why"], []).append(each["test"])
    for why, tests in by_reason.items():
        yield f"left out, because {why}:"
        yield from (f"  {test}" for test in tests[:MOST_NAMED])
        if len(tests) > MOST_NAMED:
            yield f"  and {len(tests) - MOST_NAMED} more"


def _kind(why: str) -> str:
    return why.partition(" since batch ")[0].partition(" by batch ")[0]
