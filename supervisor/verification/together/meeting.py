"""Experiments on several claims, and the files through which their tests can notice each other's experiments."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from supervisor.tasks import Promise
from supervisor.verification.evidence.inquiry import is_watched
from supervisor.verification.evidence.laying import Content, Contents
from supervisor.verification.rules.places import is_test_path
from supervisor.verification.together.reaching import Reached, notices
from supervisor.verification.together.touching import Compared, Touch, compared
from supervisor.verification.trials.runs import Instruments, Run, View


@dataclass(slots=True)
class Standing:
    """What is known about a claim's tests in its view."""

    view: View
    #: what these tests reach there; a test that was not seen to run may reach anything
    reached: Callable[[tuple[str, ...]], Reached]
    #: what belongs to all tests
    common: Reached
    #: whether the kernel told which files its tests touch
    is_traced: bool = False
    #: what the old version of the test reached, once that is known
    reached_before: Reached | None = None


@dataclass(slots=True, eq=False)
class Asked:
    standing: Standing
    nodes: tuple[str, ...]
    times: float
    instruments: Instruments
    #: the run, and whether it is charged to another claim
    answer: Promise[tuple[Run, bool]] = field(default_factory=Promise)
    #: a fork of pytest could not try it
    is_unforkable: bool = False
    #: what its checkout has in place of what is prepared
    contents: Contents = field(init=False)
    #: what it changes of the tests, which makes them others than those that were watched
    tests: Contents = field(init=False)
    #: what else it changes
    fault: Contents = field(init=False)
    _reached_now: Reached = field(init=False)

    def __post_init__(self) -> None:
        changed = self.instruments.contents or {}
        self.contents = {**self.standing.view.laid, **changed}
        self.tests = {path: each for path, each in changed.items() if self._is_test(path)}
        self.fault = {path: each for path, each in changed.items() if path not in self.tests}
        self._reached_now = self.standing.reached(self.nodes)

    def _is_test(self, path: str) -> bool:
        return any(is_test_path(path, node) for node in self.nodes)

    def can_share(self, other: "Asked") -> bool:
        mine, its = self.instruments, other.instruments
        is_alike = self._is_of_files == other._is_of_files and mine.plugins == its.plugins and mine.env == its.env
        is_known = mine.contents is not None and its.contents is not None
        # Work that is taken back has to be missed even where nothing is broken.
        is_alike = is_alike and mine.is_elsewhere == its.is_elsewhere and mine.is_faulty == its.is_faulty
        # A run that changes nothing finds its view, and nothing else.
        fits = self.standing.view is other.standing.view or (mine.changes_files and its.changes_files)
        # No test can find two things in one run.
        is_one = set(self.nodes).isdisjoint(other.nodes) or not (mine.changes_files or its.changes_files)
        return is_alike and is_known and fits and is_one and not (mine.is_alone or its.is_alone)

    def notices(self, path: str, touched: Touch) -> bool:
        """Whether its test notices that these lines of its view differ."""
        return notices(self._reached, {path: touched})

    def may_notice(self, path: str) -> bool:
        """Whether it has to be found out what differs there."""
        reached = self._reached
        is_reached = path in reached.lines or path in reached.files or path.rpartition("/")[0] in reached.folders
        return is_reached or reached.is_opaque or self.standing.view.now(path) is None

    def can_switch(self, path: str) -> bool:
        """Whether the file may differ from test to test in a run that includes this experiment."""
        reached, common, instruments = self._reached, self.standing.common, self.instruments
        # A plain run finds its view as it is.
        is_plain = path in self.standing.view.laid and not instruments.changes_files
        if self._is_of_files or reached.is_opaque or is_plain or instruments.plugins or not path.endswith(".py"):
            return False
        by_shared_programs = common.lines.get(path, frozenset()) - common.inside.get(path, frozenset())
        return not by_shared_programs and path not in reached.files | common.files

    def executes(self, path: str, touched: Touch) -> bool:
        """Whether pytest itself executes these lines of its view."""
        return self._reached.executes(path, touched) or self.standing.common.executes(path, touched)

    @property
    def teaches(self) -> bool:
        """Whether its run tells what the old version of the test reaches."""
        return bool(self.tests) and is_watched(self.instruments.plugins)

    @property
    def traces(self) -> bool:
        return self.teaches and self.standing.is_traced

    @property
    def in_its_view(self) -> Instruments:
        return replace(self.instruments, view=self.standing.view, traces=self.traces)

    @property
    def _reached(self) -> Reached:
        """What it reaches, opaque unless it was watched: an old version of a test may reach something else."""
        now, before = self._reached_now, self.standing.reached_before
        if not self.tests:
            return now
        return replace(now, is_opaque=True) if before is None else now | before

    @property
    def _is_of_files(self) -> bool:
        return all("::" not in node for node in self.nodes)


class Meetings:
    """Through which files experiments can notice each other."""

    def __init__(self) -> None:
        self._known: dict[tuple[View, str, Content | None], Compared] = {}

    def between(self, one: Asked, other: Asked) -> set[str]:
        """The files through which either test can notice the other's experiment."""
        found = set()
        for path in one.contents.keys() | other.contents.keys():
            mine, its = content_at(one, path), content_at(other, path)
            if mine != its and (self._is_noticed(one, path, its) or self._is_noticed(other, path, mine)):
                found.add(path)
        return found

    def _is_noticed(self, asked: Asked, path: str, content: Content | None) -> bool:
        """Whether a test notices this content beside its own: what is alike in both, it finds anyway."""
        if not asked.may_notice(path):
            return False
        own = self._compared(asked, path, content_at(asked, path)).hunks
        return asked.notices(path, self._compared(asked, path, content).touch(without=own))

    def is_for_programs(self, asked: Asked, path: str, usual: Content) -> bool:
        """Whether pytest itself executes nothing of what differs from the usual content."""
        contents = (usual, content_at(asked, path))
        return not any(asked.executes(path, self._compared(asked, path, each).touch()) for each in contents)

    def _compared(self, asked: Asked, path: str, content: Content | None) -> Compared:
        """With what its view has."""
        view = asked.standing.view
        if (key := (view, path, content)) not in self._known:
            self._known[key] = compared(path, content, view.now(path))
        return self._known[key]


def content_at(asked: Asked, path: str) -> Content | None:
    return asked.contents[path] if path in asked.contents else asked.standing.view.prepared(path)
