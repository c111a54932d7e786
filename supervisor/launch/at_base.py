"""What an agent is told of its test: its result at the base, if that is known by then."""

from dataclasses import dataclass

from supervisor.adapters import packed
from supervisor.adapters.layout import Layout
from supervisor.model.batch import Batch
from supervisor.model.node import cases_of, file_of

_MOST = 200


@dataclass(frozen=True, slots=True)
class AtBase:
    #: in words; "": not known
    result: str = ""
    #: why it does not pass
    message: str = ""


UNKNOWN = AtBase()


@dataclass(frozen=True, slots=True)
class _Case:
    result: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Report:
    cases: dict[str, _Case]


@dataclass(frozen=True, slots=True)
class _Run:
    """The part that is read of the run that `verification.baselines` keeps."""

    report: _Report


def at_base(layout: Layout, batch: Batch, job: int) -> AtBase:
    """The result of a job's test at the base. Blocking."""
    test = batch.job(job).test
    places = ("", *batch.profile.pools, *batch.profile.verify_pools)
    files = (layout.at_base(batch.id, batch.survey.round, file_of(test), place) for place in places)
    read = next((run for each in files if (run := packed.read(each, _Run)) is not None), None)
    cases = list(cases_of(read.report.cases, test).values()) if read is not None else []
    for result, words in (("failed", "it fails"), ("skipped", "it is skipped"), ("passed", "it passes")):
        found = [case for case in cases if case.result == result]
        if found:
            some = f" in {len(found)} of {len(cases)} cases" if len(found) < len(cases) else ""
            return AtBase(f"{words}{some}", found[0].message[:_MOST])
    return UNKNOWN
