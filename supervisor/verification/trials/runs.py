"""One run of some tests: whether they passed, and if not, why, in a sentence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.model.node import cases_of
from supervisor.publication.rules.outcome import clean
from supervisor.verification.evidence.laying import Content, Contents, put
from supervisor.verification.evidence.lies import Telling, tell
from supervisor.verification.evidence.switching import Switch
from supervisor.verification.trials.reports import Case, Report, Session
from supervisor.verification.trials.running import Ended

#: exit codes of `timeout` for a program that it ended; any program that is killed has the second one, too
LATE, _KILLED = 124, 137


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A state of a trial's checkout: that of another commit than the one that is prepared."""

    sha: str
    #: reads a file of it
    now: Callable[[str], Content | None]
    #: reads a file of the checkout as it is prepared
    prepared: Callable[[str], Content | None]
    #: the files in which they differ, as they are in this view
    laid: Contents = field(default_factory=dict)
    #: files of git's own
    history: Contents = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Instruments:
    """What gathers evidence in a run; such a run can be told from an agent's."""

    #: more plugins of pytest: module name → source. They may write below the folder that the environment variable
    #: `SUPERVISOR_EVIDENCE` names, which is the run's `folder`
    plugins: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    #: more arguments for pytest
    args: tuple[str, ...] = ()
    #: the state of the checkout, if it is not what is prepared
    view: View | None = None
    #: contents that replace those for an experiment
    files: Contents = field(default_factory=dict)
    #: these are faults, and no work that is taken back
    is_faulty: bool = False
    #: it can't be told from a plain run: pytest does not fork
    is_plain: bool = False
    #: files with another content for each test
    switched: Mapping[str, Switch] = field(default_factory=dict)
    #: a program that takes the place of one of the repository's own, and lies
    liar: Telling | None = None
    #: the checkout is where a person's may be, if walls can show it there
    is_elsewhere: bool = False
    #: the files that its programs open are noted, where possible
    traces: bool = False
    #: it shares its checkout with no other test
    is_alone: bool = False

    @property
    def are_none(self) -> bool:
        return self.shows_the_work and not self.args

    @property
    def shows_the_work(self) -> bool:
        """Whether such a run does what the work does: nothing is changed, and nothing watches."""
        return not self.plugins and not self.env and not self.is_elsewhere and not self.changes_files

    @property
    def changes_files(self) -> bool:
        return bool(self.files or self.switched) or self.liar is not None

    @property
    def lays(self) -> bool:
        """Whether its checkout differs from the one that is prepared."""
        return self.view is not None or self.changes_files

    @property
    def contents(self) -> Contents | None:
        """The files that it changes for an experiment; None: unknown."""
        return self.files if self.liar is None else None

    def write(self, into: Path) -> None:
        """Writes the plugins. Blocking."""
        into.mkdir()
        for name, source in self.plugins.items():
            (into / f"{name}.py").write_text(source)

    def laid(self, notes: Path) -> Contents:
        """The contents in the checkout that replace the commit's. `notes`: the folder for notes."""
        switched = {path: each.content(path, notes) for path, each in self.switched.items()}
        return {**(self.view.laid if self.view else {}), **self.files, **switched}

    def lay(self, checkout: Path, notes: Path) -> None:
        """Blocking."""
        put(checkout, {**self.laid(notes), **(self.view.history if self.view else {})})
        if self.liar is not None:
            tell(checkout, self.liar)


PLAIN = Instruments()


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    ended: Ended
    report: Report
    #: the nodes that were asked for
    asked: tuple[str, ...]
    seconds: float
    #: its time limit
    limit: float
    #: where instruments write; deleted with the trial
    folder: Path
    #: what was imported from the user's own checkout instead of the one under trial, in a sentence
    stray: str = ""
    #: why its walls ended it, and what it did not get because of them, in sentences
    stopped: str = ""
    missed: str = ""
    #: where the recordings that its tests made are, until the trial ends; "": there are none
    recorded: str = ""
    #: a run without its change, just before, was not cut short
    is_controlled: bool = False

    @property
    def cases(self) -> Mapping[str, Case]:
        return self.report.cases

    @property
    def session(self) -> Session | None:
        return self.report.session

    @property
    def passed(self) -> bool:
        """Every case of every node passed, and session, report and exit code agree."""
        return not self.why_not

    @property
    def held(self) -> bool:
        """The same, except that some of the cases may have been skipped."""
        return not self._failure and any(case.result == "passed" for case in self.cases.values())

    @property
    def only_skipped(self) -> bool:
        return not self._failure and not self.held

    @property
    def why_not(self) -> str:
        said = self._failure or self._skip
        return f"{said}; {self.missed}" if said and self.missed else said

    @property
    def is_late(self) -> bool:
        code = self.ended.code
        return code in (None, LATE) or (code == _KILLED and self.seconds >= self.limit)

    @property
    def cut_short(self) -> str:
        """Why it did not end by itself; "" if it did. The machine may be at fault, and not the test."""
        if self.ended.is_lost:
            return "it killed the process that watches over it"
        if self.stopped:
            return self.stopped
        if self.is_late:
            return "it does not end in time"
        if self.session is None or self.session.exitstatus is None:
            return f"pytest ended with {self.ended.code} before its session did"
        return ""

    @property
    def _failure(self) -> str:
        code, report = self.ended.code, self.report
        if self.ended.is_lost or self.stopped or self.is_late:
            return self.cut_short
        if report.session is None:
            return f"pytest ended with {code} and no report{self._last(': ')}"
        if self.stray:
            return self.stray
        if report.is_forged:
            return "something other than pytest reported in its name"
        if failed := [node for node, case in report.cases.items() if case.result == "failed"]:
            which = failed[0] if len(report.cases) > 1 else "it"
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            return f"{which} fails: {report.cases[failed[0]].message or 'without a word'}{more}"
        if report.uncollected:
            return f"it can't be collected: {report.uncollected[0]}"
        if report.session.exitstatus is None:
            return f"pytest ended with {code} before its session did"
        if not report.cases:
            return f"no test was run{self._last(': ') if code not in (0, 5) else ''}"
        if missing := [node for node in self.asked if not cases_of(report.cases, node)]:
            return f"{missing[0]} was not run"
        if report.left_out:
            return f"{report.left_out} of its collected tests were not run"
        if code != report.session.exitstatus:
            return f"pytest's session ended with {report.session.exitstatus}, and its process with {code}"
        return f"it fails: exit code {code}{self._last(', ')}" if code else ""

    @property
    def _skip(self) -> str:
        skipped = {node: case for node, case in self.cases.items() if case.result == "skipped"}
        if not skipped:
            return ""
        node, case = next(iter(skipped.items()))
        which = node if len(self.cases) > 1 else "it"
        return f"{which} was skipped{f': {case.message}' if case.message else ''}"

    def _last(self, before: str) -> str:
        """The last line of the output."""
        lines = [line for line in clean(self.ended.tail).splitlines() if line.strip(" =")]
        said = " ".join(lines[-1:])[:200].strip(" =")
        return f"{before}{said}" if said else ""
