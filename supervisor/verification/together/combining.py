"""Packs experiments on several claims into few runs, and decides what each run finds in its checkout.

Experiments share a run if no test reaches the lines that another test's experiment changes. Where they do meet, the
file becomes a switch: each test finds the content of its own experiment (`evidence/switching.py`). Only code that
tests start as a program can be switched: what pytest itself imports for one test stays imported for the next one.
"""

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import replace

from supervisor.verification.evidence.inquiry import is_watched, naming, telling
from supervisor.verification.evidence.laying import Content
from supervisor.verification.evidence.switching import Switch
from supervisor.verification.together.meeting import Asked, Meetings, content_at
from supervisor.verification.together.merging import merged
from supervisor.verification.trials.runs import Instruments, View

MOST_TESTS = 1000


class Together:
    """Experiments that one run can answer."""

    def __init__(self, asked: Asked, meetings: Meetings, never: Set[str]) -> None:
        self.asked = [asked]
        #: what the run finds in place of the files that are prepared
        self._files: dict[str, Content | None] = dict(asked.contents)
        #: files that differ from test to test
        self._switched: dict[str, Switch] = {}
        self._meetings = meetings
        #: files that can't be switches
        self._never = never

    def takes(self, asked: Asked) -> bool:
        if (switched := self._meet(asked)) is None:
            return False
        others = asked.contents.keys() - switched
        one, before = dict(self._files), self._ancestor(asked)
        for path in others:
            try:
                content = asked.contents[path]
                one[path] = merged(before(path), one[path], content) if path in one else content
            except ValueError:
                switched.add(path)
        if (switches := self._switches(asked, switched)) is None:
            return False
        self.asked.append(asked)
        self._switched = switches
        self._files = {path: content for path, content in one.items() if path not in switches}
        return True

    def _meet(self, asked: Asked) -> set[str] | None:
        """The files that have to be switches; None: it can't share this run."""
        if not all(other.can_share(asked) for other in self.asked):
            return None
        return set(self._switched).union(*(self._meetings.between(other, asked) for other in self.asked))

    def _ancestor(self, asked: Asked) -> Callable[[str], Content | None]:
        """Reads the file upon which changes of it are merged."""
        view = asked.standing.view
        return view.now if self._view is view else view.prepared

    def _switches(self, asked: Asked, paths: Collection[str]) -> dict[str, Switch] | None:
        """None: one of the files can't be a switch."""
        everybody = [*self.asked, asked]
        if self._never & set(paths) or not all(each.can_switch(path) for each in everybody for path in paths):
            return None
        switches = dict[str, Switch]()
        for path in paths:
            usual = asked.standing.view.prepared(path)
            contents = {node: content_at(each, path) for each in everybody for node in each.nodes}
            if (
                usual is None
                or usual.kind == "link"
                or not all(each and each.kind != "link" for each in contents.values())
                or not all(self._meetings.is_for_programs(each, path, usual) for each in everybody)
            ):
                return None
            switches[path] = Switch(usual, {node: each if each != usual else None for node, each in contents.items()})
            if not switches[path].is_small:
                return None
        return switches

    @property
    def switched(self) -> Set[str]:
        return self._switched.keys()

    @property
    def instruments(self) -> Instruments:
        if len(self.asked) == 1:
            return self.asked[0].in_its_view
        first = self.asked[0].instruments
        plugins = {**telling(), **first.plugins} if is_watched(first.plugins) else first.plugins
        if not any(each.instruments.changes_files for each in self.asked):
            return replace(first, plugins=plugins, view=self._view)
        plugins = {**plugins, **naming()} if self._switched else plugins
        traces = any(each.traces for each in self.asked)
        return replace(
            first, plugins=plugins, view=self._view, files=self._files, switched=self._switched, traces=traces
        )

    @property
    def _view(self) -> View | None:
        """None: they are in several."""
        views = {each.standing.view for each in self.asked}
        return views.pop() if len(views) == 1 else None


def combined(asked: Sequence[Asked], never: Set[str], most: int = MOST_TESTS) -> list[Together]:
    """Each experiment joins the first run that takes it; `never`: files that can't be switches; `most`: so many
    experiments share a run. Blocking."""
    runs, meetings = list[Together](), Meetings()
    for each in asked:
        if not any(len(run.asked) < most and run.takes(each) for run in runs):
            runs.append(Together(each, meetings, never))
    return runs
