"""Runs a group of a batch's files at its base, and counts the results of their tests.

These runs are the baselines of the batch's verdicts: a file that has run for a claim is not run again here, and a
file that has run here is not run again for a claim.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from supervisor.model.batch import Batch
from supervisor.model.node import cases_of, file_of
from supervisor.model.survey import MOST_NAMED, Surveyed
from supervisor.publication.rules.outcome import clean
from supervisor.verification.baselines import Baseline, Baselines, tests_in
from supervisor.verification.rules.causes import cause_of
from supervisor.verification.trials.reports import UNENDED, Case

#: A common run gets the time of so many tests: one that hangs must not hold a slot for hours. Files that need more
#: time run one by one.
MOST_TIMES = 4
MOST_SAMPLE = 300


async def survey(baselines: Baselines, batch: Batch, files: Sequence[str]) -> Surveyed:
    """Raises DeviceFailed."""
    before = await baselines.run_together(batch, files, MOST_TIMES)
    found = Surveyed()
    for place, file in enumerate(files):
        baseline = await baselines.of(batch, file)
        if baseline.is_unready:  # the network may have been away for a moment
            baseline = await baselines.of(batch, file)
        if baseline.is_unready:
            return found + _unready(baseline, sum(tests_in(batch, each) for each in files[place:]))
        found += _counted(batch, file, baseline, before)
    return found


def _unready(baseline: Baseline, tests: int) -> Surveyed:
    why = clean(baseline.why_not, MOST_SAMPLE)
    return Surveyed(unrun=tests, problem=why, cause=cause_of(why), sample=why)


def _counted(batch: Batch, file: str, baseline: Baseline, before: Mapping[str, Case]) -> Surveyed:
    cases = baseline.run.cases if baseline.run is not None else {}
    flaky = [node for node, case in cases.items() if _differ(case, before.get(node))]
    results = {node: case.result for node, case in cases.items() if node not in flaky}
    red = [node for node, result in results.items() if result == "failed"]
    unrun = 0 if results or flaky else tests_in(batch, file)
    said = list(_said(cases, red, baseline, is_unrun=bool(unrun)))
    causes = {cause_of(each) for each in said}
    return Surveyed(
        green=sum(result == "passed" for result in results.values()),
        red=len(red),
        flaky=len(flaky),
        skipped=sum(result == "skipped" for result in results.values()),
        unrun=unrun,
        red_tests=_names(red or ([file] if unrun else [])),
        flaky_tests=_names(flaky),
        cause=causes.pop() if len(causes) == 1 else "",
        sample=clean(said[0], MOST_SAMPLE) if said else "",
        seconds=baseline.run.seconds if baseline.run is not None else 0.0,
        setup_seconds=baseline.setup_seconds,
        **(_families(batch, file, cases, red) if batch.profile.hold_siblings else {}),
    )


def _families(batch: Batch, file: str, cases: Mapping[str, Case], red: Sequence[str]) -> dict[str, Any]:
    """The jobs whose tests fail at one place of shared code: all red cases of a job fail at that place."""
    families: dict[str, tuple[int, ...]] = {}
    own = [(number, test) for number, test in enumerate(batch.tests, start=1) if file_of(test) == file]
    for number, test in own:
        places = {cases[node].shared for node in cases_of(cases, test).keys() & set(red)}
        if len(places) == 1 and (place := min(places)):
            families[place] = (*families.get(place, ()), number)
    return {"families": families, "shared": sum(cases[node].shared in families for node in red)}


def _differ(case: Case, before: Case | None) -> bool:
    """A test that was cut off the first time does not count."""
    if before is None or before.message == UNENDED:
        return False
    return {case.result, before.result} == {"passed", "failed"}


def _said(cases: Mapping[str, Case], red: Sequence[str], baseline: Baseline, *, is_unrun: bool) -> Iterator[str]:
    yield from (cases[node].message for node in red)
    if is_unrun:
        uncollected = baseline.run.report.uncollected if baseline.run is not None else ()
        yield uncollected[0].partition(": ")[2] if uncollected else baseline.why_not


def _names(nodes: Sequence[str]) -> tuple[str, ...]:
    return tuple(clean(node, MOST_SAMPLE) for node in nodes[:MOST_NAMED])
