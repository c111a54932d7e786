"""What the plain runs show by themselves, compared with the base.

Cases that are gone, another function in a test's place, changed settings of pytest, and modules that shadow others
are certain, and refused.
"""

import sys
from collections.abc import Iterator, Mapping

from supervisor.model.node import cases_of, function_of
from supervisor.verification.trials.reports import Case, Session
from supervisor.verification.trials.runs import Run


def refusals(test: str, before: Run | None, runs: list[Run], file: Run | None) -> Iterator[str]:
    """`before`: its file at the base; `file`: its file now."""
    if before is None or before.session is None or not runs:
        return
    yield from _cases(cases_of(before.cases, test), runs[0].cases)
    for run in runs:
        if run.session is not None:
            yield from _settings(before.session, run.session)
    for run in (*runs, *([file] if file is not None else [])):
        if run.session is not None:
            yield from _modules(before.session, run.session)
        yield from _origins(before.cases, run.cases)


def _cases(before: Mapping[str, Case], after: Mapping[str, Case]) -> Iterator[str]:
    """A case may get other values, and so another name: only fewer cases count as a loss."""
    gone = sorted(before.keys() - after.keys())
    if len(after) < len(before):
        more = f" and {len(gone) - 3} more" if len(gone) > 3 else ""
        yield f"cases: {', '.join(gone[:3])}{more} is gone: {len(after)} of {len(before)} cases are left"
    skipped = [node for node, case in after.items() if case.result == "skipped"]
    if now := [node for node in skipped if node not in before or before[node].result != "skipped"]:
        yield f"cases: {now[0]} is skipped now{f': {after[now[0]].message}' if after[now[0]].message else ''}"


def _origins(before: Mapping[str, Case], after: Mapping[str, Case]) -> Iterator[str]:
    """A test must run the function that its name stands for, if it did so before."""
    for node, case in after.items():
        was = before.get(node) or next(iter(cases_of(before, function_of(node)).values()), None)
        if not case.origin or (was is not None and not is_its_own(node, was)):
            continue
        if was is not None and not is_its_own(node, case):
            what = f"{case.name} of {case.origin}" if case.name else case.origin
            yield f"origin: what runs as {function_of(node)} is {what}"
            return


def is_its_own(node: str, case: Case) -> bool:
    path, *names = function_of(node).split("::")
    return case.origin == path and case.name.rpartition(".")[2] in (names[-1:] or [""])


def _settings(before: Session, after: Session) -> Iterator[str]:
    for name in ("rootdir", "inipath", "addopts", "conftests", "version"):
        was, now = getattr(before, name), getattr(after, name)
        is_unknown = name == "rootdir" and not (was and now)  # a share of a common run
        if was != now and not is_unknown:
            yield f"session: pytest's {name} is {_shown(now)}, and was {_shown(was)}"
    for key in sorted(before.ini.keys() | after.ini.keys()):
        if before.ini.get(key) != after.ini.get(key):
            yield f"session: pytest's setting {key} is {_shown(after.ini.get(key))}"
    for name, file in sorted(after.plugins.items()):
        if before.plugins.get(name) != file:
            yield f"session: the plugin {name} is loaded from {file}"


def _shown(value: object) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else str(value or "")
    return text[:100] or "not set"


def _modules(before: Session, after: Session) -> Iterator[str]:
    known = {**before.foreign, **before.modules}
    for name, file in sorted(after.modules.items()):
        if name in known and known[name] != file:
            yield f"shadowed: the module {name} is {file}, and was {known[name]}"
        elif name not in known and name in sys.stdlib_module_names:
            yield f"shadowed: the module {name} of Python's own is {file}"
