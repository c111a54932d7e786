"""One claim's part of a common run: its own tests, as if they had run alone."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from supervisor.model.node import cases_of, file_of
from supervisor.verification.together.reaching import split_notes
from supervisor.verification.trials.runs import Run

#: a file that can't be collected does not stop the others from running
GOING_ON = ("--continue-on-collection-errors",)


def unsound(run: Run, nodes: Sequence[str]) -> str:
    """Why a common run settles nothing; "" if each of its cases counts as it would in a run of its own."""
    report, session, code = run.report, run.session, run.ended.code
    if run.stopped:
        return run.stopped
    missing = report.unread_files
    has_failed = bool(missing) or any(case.result == "failed" for case in run.cases.values())
    if run.ended.is_lost or session is None or session.exitstatus is None:
        return "their common run ended before its time"
    if run.stray or report.is_forged or report.left_out:
        return run.why_not
    if code != session.exitstatus or code != int(has_failed):
        return f"their common run ended with {code}"
    unrun = [node for node in nodes if file_of(node) not in missing and not cases_of(run.cases, node)]
    return f"{unrun[0]} was not run" if unrun else ""


def own(run: Run, nodes: tuple[str, ...], parts: int) -> Run:
    """One claim's part of a sound run, with its own notes, as if it were a run of its own. Blocking."""
    folder = run.folder / f"own-{os.urandom(4).hex()}"
    split_notes(run.folder / "plugins", nodes, folder / "plugins")
    return replace(part(run, nodes, parts), folder=folder)


def part(run: Run, nodes: tuple[str, ...], parts: int) -> Run:
    """The results of some tests of a sound run."""
    assert run.session is not None
    cases = {name: case for node in nodes for name, case in cases_of(run.cases, node).items()}
    unread = tuple(each for each in run.report.uncollected if file_of(each.partition(": ")[0]) in map(file_of, nodes))
    code = int(bool(unread) or any(case.result == "failed" for case in cases.values()))
    session = replace(run.session, exitstatus=code, conftests=_conftests(run, nodes), args=nodes)
    if not session.inipath:
        session = replace(session, rootdir="")  # without a settings file, it depends on which tests run
    return replace(
        run,
        ended=replace(run.ended, code=code),
        report=replace(run.report, cases=cases, session=session, uncollected=unread),
        asked=nodes,
        seconds=run.seconds / parts,
        missed="",  # it is unknown which claim's it was
    )


def _conftests(run: Run, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the folders that these tests are in."""
    assert run.session is not None
    folders = {parent for node in nodes for parent in PurePosixPath(file_of(node)).parents}
    return tuple(each for each in run.session.conftests if PurePosixPath(each).parent in folders)
