"""The result of a pytest run, its cases and its session, read from the records of our reporter.

A case has passed if its setup, call and teardown were each seen to begin and to end without an exception, and pytest
reports the same. If the two differ, something stood between the test and its report.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from supervisor.model.node import file_of
from supervisor.publication.rules.outcome import clean
from supervisor.verification.rules.causes import cause_of

type Result = Literal["passed", "skipped", "failed"]
type Ran = Literal["returned", "raised", "never", "unknown"]

MAX_CASES = 50_000
MAX_MESSAGE = 300
UNENDED = "it was not run to its end"
MISSING_FIXTURE = "FixtureLookupError"


class Record(msgspec.Struct, frozen=True):
    """One record of the reporter; which fields are set depends on its kind."""

    nonce: str
    kind: Literal["begin", "item", "uncollected", "phase", "report", "plugin", "module", "fork", "end"]
    node: str = ""
    path: str = ""
    when: str = ""
    #: the kind of exception that ended the phase: "", "failed", "skipped" or "xfailed"
    raised: str = ""
    outcome: str = ""
    milliseconds: int = 0
    xfail: bool = False
    message: str = ""
    file: str = ""
    line: int = 0
    origin: str = ""
    name: str = ""
    ran: Ran = "unknown"
    wrapped: bool = False
    #: of the exception that ended the phase: file, line, function, and whether that is the test itself
    frames: list[tuple[str, int, str, bool]] = []
    rootdir: str = ""
    inipath: str = ""
    args: list[str] = []
    addopts: list[str] = []
    ini: dict[str, str] = {}
    version: str = ""
    prefix: str = ""
    paths: list[str] = []
    editables: dict[str, str] = {}
    exitstatus: int = 0
    collected: int = 0


@dataclass(slots=True)
class Heard:
    records: list[Record] = field(default_factory=list)
    is_connected: bool = False
    #: something else sent data over the reporter's connection
    is_forged: bool = False
    is_too_much: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    result: Result
    #: why it did not pass, in one line
    message: str = ""
    #: the file with the code of the function that was really called: a path in the checkout, or an absolute one
    origin: str = ""
    line: int = 0
    #: its qualified name
    name: str = ""
    #: how the call of that function ended; "unknown" if this Python can't watch it
    ran: Ran = "unknown"
    #: its duration, with setup and teardown, as pytest reports it
    seconds: float = field(default=0.0, compare=False)
    #: where it failed in code that it shares with other tests, and why: `tests/conftest.py:12 in shop: OSError: …`
    shared: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Session:
    """How pytest was set up. Paths in the checkout are relative to it, others are absolute."""

    #: "" if it is unknown
    rootdir: str
    #: "" where pytest found no file of settings
    inipath: str
    args: tuple[str, ...]
    addopts: tuple[str, ...]
    ini: Mapping[str, str]
    version: str
    #: `sys.prefix` of the Python that ran it
    prefix: str
    #: plugins that are neither pytest's own nor ours, with their files
    plugins: Mapping[str, str]
    conftests: tuple[str, ...]
    #: top-level modules from the checkout, with their files
    modules: Mapping[str, str]
    #: top-level modules from elsewhere that are neither Python's own nor installed, with their files
    foreign: Mapping[str, str]
    #: `sys.path`, and the packages of editable installs that a finder finds elsewhere; paths are not rewritten
    paths: tuple[str, ...] = ()
    editables: Mapping[str, str] = field(default_factory=dict)
    #: None: it did not end
    exitstatus: int | None = None


@dataclass(frozen=True, slots=True)
class Fork:
    """A test with one fault, in a fork of pytest (`evidence/forking`)."""

    cases: Mapping[str, Case]
    #: it did not end in time
    is_late: bool


@dataclass(frozen=True, slots=True)
class Report:
    cases: Mapping[str, Case] = field(default_factory=dict)
    session: Session | None = None
    #: what could not be collected, each with the reason
    uncollected: tuple[str, ...] = ()
    #: the number of tests that were collected but not run
    left_out: int = 0
    is_connected: bool = False
    is_forged: bool = False
    #: by number: the forks that ended, by themselves or for time
    forks: Mapping[int, Fork] = field(default_factory=dict)

    @property
    def unread_files(self) -> frozenset[str]:
        """The files that could not be collected."""
        return frozenset(file_of(each.partition(": ")[0]) for each in self.uncollected)


def read(heard: Heard, checkout: Path) -> Report:
    """Blocking: run it in a thread."""
    return understood(heard, checkout.resolve())


def understood(heard: Heard, checkout: Path) -> Report:
    """`checkout`: its path without links; it may have been on another host."""
    return _Reading(heard, checkout).report()


class _Reading:
    def __init__(self, heard: Heard, checkout: Path) -> None:
        self._heard, self._inside = heard, f"{checkout}/"
        self._by_kind: dict[str, list[Record]] = defaultdict(list)
        for record in heard.records:
            self._by_kind[record.kind].append(record)
        self._rootdir = next((Path(each.rootdir) for each in self._by_kind["begin"]), checkout)
        self._nodes: dict[str, str] = {}

    def report(self) -> Report:
        items = self._by_kind["item"][:MAX_CASES]
        for record in (*items, *self._by_kind["phase"]):
            if record.path or record.node not in self._nodes:
                self._nodes[record.node] = self._node(record)
        cases = self._cases(self._heard.records)
        expected = {self._nodes[record.node] for record in items}
        return Report(
            cases,
            self._session(),
            tuple(f"{each.node}: {self._why(each)}" for each in self._by_kind["uncollected"]),
            len(expected - cases.keys()),
            self._heard.is_connected,
            self._heard.is_forged or self._heard.is_too_much or len(self._by_kind["begin"]) > 1,
            dict(self._forks()),
        )

    # --- places

    def _node(self, record: Record) -> str:
        """A node id relative to the repository; pytest's is relative to its own root, which may lie elsewhere."""
        path, sep, inside = record.node.partition("::")
        return self._place(record.path or str(self._rootdir / path)) + sep + inside

    def _place(self, path: str) -> str:
        if not path.startswith("/"):
            return path
        inside = f"{PurePosixPath(path)}/".removeprefix(self._inside)  # many times faster than `relative_to`
        return path if inside.startswith("/") else inside.removesuffix("/") or "."

    def _why(self, record: Record) -> str:
        """The first line of the message, and its place."""
        lines = [line.strip() for line in clean(record.message).splitlines() if line.strip()]
        said = lines[0][:MAX_MESSAGE] if lines else ""
        file = self._place(record.file if record.file.startswith("/") else str(self._rootdir / record.file))
        return f"{said} ({file}:{record.line})".strip() if record.file and record.line else said

    # --- cases

    def _forks(self) -> Iterator[tuple[int, Fork]]:
        told, number = list[Record](), ""
        for record in self._heard.records:
            if record.kind == "fork" and record.when == "begin":
                told, number = [], record.name
            elif record.kind == "fork" and record.name == number and record.outcome in ("ended", "late"):
                yield int(number), Fork(self._cases(told), record.outcome == "late")
            elif number:
                told.append(record)

    def _cases(self, records: Iterable[Record]) -> dict[str, Case]:
        told: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            if record.kind == "phase" and record.when == "setup":
                told[record.node].clear()  # a rerun: the last one counts
            if record.kind in ("phase", "report"):
                told[record.node].append(record)
        found = list(told.items())[:MAX_CASES]
        return {self._nodes.get(node) or self._node(records[0]): self._case(records) for node, records in found}

    def _case(self, records: Iterable[Record]) -> Case:
        phases = {record.when: record for record in records if record.kind == "phase"}
        reports = [record for record in records if record.kind == "report" and record.outcome != "rerun"]
        call = phases.get("call")
        result, message = self._result(phases, reports)
        seconds = sum(max(0, each.milliseconds) for each in reports) / 1000
        shared = self._shared(phases) if result == "failed" else ""
        if call is None:
            return Case(result, message, seconds=seconds, shared=shared)
        return Case(result, message, self._place(call.origin), call.line, call.name, call.ran, seconds, shared)

    def _shared(self, phases: Mapping[str, Record]) -> str:
        """The innermost frame in the repository, unless it is the test's own. A fixture that is missing has none."""
        failed = next((each for each in phases.values() if each.raised == "failed"), None)
        if failed is None or failed.message.startswith(MISSING_FIXTURE):
            return ""
        own = [(place, *rest) for file, *rest in failed.frames if not (place := self._place(file)).startswith("/")]
        if not own or own[-1][-1]:
            return ""
        file, line, function, _ = own[-1]
        return clean(f"{file}:{line} in {function}: {cause_of(clean(failed.message))}")[:MAX_MESSAGE]

    def _result(self, phases: Mapping[str, Record], reports: list[Record]) -> tuple[Result, str]:
        if failed := next((each for each in reports if each.outcome == "failed"), None):
            return "failed", self._why(failed)
        skipped = next((each for each in reports if each.outcome == "skipped"), None)
        expected = skipped is not None and skipped.xfail
        raised = next((each for each in phases.values() if each.raised == "failed"), None)
        if raised and not expected:
            return "failed", f"{self._why(raised)}, which something kept from its report"
        if skipped:
            return "skipped", self._why(skipped)
        if stopped := next((each for each in phases.values() if each.raised), None):
            return "skipped", self._why(stopped)
        if phases.keys() != {"setup", "call", "teardown"} or {each.when for each in reports} != phases.keys():
            return "failed", UNENDED
        call = phases["call"]
        if call.ran == "never":
            return "failed", "its function was never called"
        if call.ran == "raised" and not call.wrapped:
            return "failed", "its function raised what something kept from pytest"
        return "passed", ""

    # --- the session

    def _session(self) -> Session | None:
        if not self._by_kind["begin"]:
            return None
        begin, end = self._by_kind["begin"][0], self._by_kind["end"]
        named = [(each.name, self._place(each.file)) for each in self._by_kind["plugin"] if each.file]
        # pytest names a plugin without a name by its address in memory.
        files = {file if name.isdigit() else name: file for name, file in named}
        is_conftest = {name: PurePosixPath(file).name == "conftest.py" for name, file in files.items()}
        modules = {each.name: self._place(each.file) for each in self._by_kind["module"]}
        return Session(
            rootdir=self._place(begin.rootdir),
            inipath=self._place(begin.inipath),
            args=tuple(begin.args),
            addopts=tuple(begin.addopts),
            ini=begin.ini,
            version=begin.version,
            prefix=begin.prefix,
            plugins={n: file for n, file in files.items() if not is_conftest[n] and not _is_pytests_own(file)},
            conftests=tuple(sorted(file for name, file in files.items() if is_conftest[name])),
            modules={name: file for name, file in modules.items() if not file.startswith("/")},
            foreign={name: file for name, file in modules.items() if file.startswith("/")},
            paths=tuple(begin.paths),
            editables=begin.editables,
            exitstatus=end[0].exitstatus if end else None,
        )


def _is_pytests_own(file: str) -> bool:
    return "site-packages/_pytest/" in file
