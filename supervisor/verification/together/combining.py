"""Packs experiments on several claims into few runs, and decides what each run finds in its checkout.

Experiments share a run if no test reaches the lines that another test's experiment changes. Where they do meet, the
file becomes a switch: each test finds the content of its own experiment (`evidence/switching.py`). Only code that
tests start as a program can be switched: what one test imports into pytest itself stays imported for the next one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from supervisor.model.node import file_of
from supervisor.tasks import Promise
from supervisor.verification.evidence.inquiry import is_watched, naming, telling
from supervisor.verification.evidence.laying import Content, Contents
from supervisor.verification.evidence.switching import Switch
from supervisor.verification.rules.places import is_test_path
from supervisor.verification.together.merging import merged
from supervisor.verification.together.reaching import Reached, notices
from supervisor.verification.together.touching import Touch, touch
from supervisor.verification.trials.runs import Instruments, Run


@dataclass(slots=True)
class Standing:
    """What is known about a claim's test in the tree that it shares with other claims."""

    reached: Reached
    #: what belongs to all tests
    common: Reached
    #: reads files of the composed tree
    now: Callable[[Iterable[str]], Contents]
    #: what the old version of the test reached, once that is known
    reached_before: Reached | None = None


@dataclass(slots=True, eq=False)
class Asked:
    standing: Standing
    nodes: tuple[str, ...]
    times: float
    instruments: Instruments
    is_alone: bool = False
    #: the run, and whether it is charged to another claim
    answer: Promise[tuple[Run, bool]] = field(default_factory=Promise)
    touched: Mapping[str, Touch] = field(default_factory=dict)
    #: whether it runs another version of the test than the one that was watched
    is_otherwise: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_otherwise = any(is_test_path(path, node) for path in self.contents for node in self.nodes)

    @property
    def contents(self) -> Contents:
        """What its experiment puts into the checkout."""
        return self.instruments.contents or {}

    def meets(self, other: "Asked") -> set[str] | None:
        """The files through which either test can notice the other's experiment; None: they can't share a run."""
        mine, its = self.instruments, other.instruments
        is_alike = self._is_of_files == other._is_of_files and mine.plugins == its.plugins and mine.env == its.env
        is_alike = is_alike and mine.is_elsewhere == its.is_elsewhere
        if self.is_alone or other.is_alone or not is_alike or mine.contents is None or its.contents is None:
            return None
        return self._noticed(other) | other._noticed(self)

    def _noticed(self, other: "Asked") -> set[str]:
        mine, its = self.contents, other.contents
        differing = {
            path: each for path, each in other.touched.items() if path not in mine or mine[path] != its[path]
        }
        return {path for path, each in differing.items() if notices(self._reached, {path: each})}

    def can_switch(self, path: str) -> bool:
        """Whether the file may differ from test to test in a run that includes this experiment."""
        reached, common = self._reached, self.standing.common
        if self._is_of_files or reached.is_opaque or self.instruments.plugins or not path.endswith(".py"):
            return False
        return path not in common.lines and path not in reached.files | common.files

    @property
    def _reached(self) -> Reached:
        """What it reaches, opaque unless it was watched: an old version or a new test may reach something else."""
        standing = self.standing
        if any(file_of(node) not in standing.reached.lines for node in self.nodes):
            return replace(standing.reached, is_opaque=True)
        if not self.is_otherwise:
            return standing.reached
        before = standing.reached_before
        return replace(standing.reached, is_opaque=True) if before is None else standing.reached | before

    @property
    def _is_of_files(self) -> bool:
        return all("::" not in node for node in self.nodes)


class Together:
    """Experiments that one run can answer."""

    def __init__(self, asked: Asked, never: Set[str]) -> None:
        self.asked = [asked]
        #: what the run finds in place of the tree's files
        self._files: dict[str, Content | None] = dict(asked.contents)
        #: files that differ from test to test
        self._switched: dict[str, Switch] = {}
        #: files that can't be switches
        self._never = never

    def takes(self, asked: Asked) -> bool:
        switched = self._meetings(asked)
        if switched is None:
            return False
        others = asked.contents.keys() - switched
        now = asked.standing.now(sorted(self._files.keys() & others))
        one = dict(self._files)
        for path in others:
            try:
                one[path] = (
                    merged(now[path], one[path], asked.contents[path]) if path in one else asked.contents[path]
                )
            except ValueError:
                switched.add(path)
        if (switches := self._switches(asked, switched)) is None:
            return False
        self.asked.append(asked)
        self._switched = switches
        self._files = {path: content for path, content in one.items() if path not in switches}
        return True

    def _meetings(self, asked: Asked) -> set[str] | None:
        """The files that have to be switches; None: it can't share this run."""
        found = set(self._switched)
        for other in self.asked:
            if (met := asked.meets(other)) is None:
                return None
            found |= met
        return found

    def _switches(self, asked: Asked, paths: Collection[str]) -> dict[str, Switch] | None:
        """None: one of the files can't be a switch."""
        everybody = [*self.asked, asked]
        if self._never & set(paths) or not all(each.can_switch(path) for each in everybody for path in paths):
            return None
        now, switches = asked.standing.now(sorted(paths)), dict[str, Switch]()
        for path in paths:
            usual = now[path]
            contents = {node: each.contents.get(path, usual) for each in everybody for node in each.nodes}
            if (
                usual is None
                or usual.kind == "link"
                or not all(each and each.kind != "link" for each in contents.values())
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
        first = self.asked[0].instruments
        if len(self.asked) == 1:
            return first
        plugins = {**telling(), **first.plugins} if is_watched(first.plugins) else first.plugins
        plugins = {**plugins, **naming()} if self._switched else plugins
        return replace(first, plugins=plugins, files=self._files, switched=self._switched)


def combined(asked: Sequence[Asked], never: Set[str]) -> list[Together]:
    """Each experiment joins the first run that takes it; `never`: files that can't be switches. Blocking."""
    runs: list[Together] = []
    for each in asked:
        each.touched = _touched(each)
        if not any(run.takes(each) for run in runs):
            runs.append(Together(each, never))
    return runs


def _touched(asked: Asked) -> dict[str, Touch]:
    now = asked.standing.now(sorted(asked.contents))
    return {path: touch(path, content, now[path]) for path, content in asked.contents.items()}
