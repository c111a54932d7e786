"""Many claims, one trial: what several of them ask at a time is answered by one run.

Theory of operation. Each claim has a `Share`, which its hearing takes for a trial of its own. Once every hearing that
goes on waits for a run, it is their turn: what they ask is put into as few runs as may be, and each of them hears of
its own tests alone. Experiments go together if no test reaches the lines that another one's experiment changes.
Tests run in one order in one turn, and in the other in the next: who needs what another test leaves behind fails.

A run that says nothing certain about each of its tests, such as one that does not end, is `Unsound` for all of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from pathlib import Path

from supervisor.model.node import file_of
from supervisor.tasks import Promise
from supervisor.threads import in_thread
from supervisor.verification.evidence.inquiry import is_watched, telling
from supervisor.verification.evidence.laying import Content, Contents
from supervisor.verification.evidence.seen import is_whole
from supervisor.verification.together.merging import merged
from supervisor.verification.together.parts import own, unsound
from supervisor.verification.together.reaching import Reached, notices, read_notes
from supervisor.verification.together.touching import Touch, touch
from supervisor.verification.trials.asking import Place
from supervisor.verification.trials.runs import PLAIN, Instruments, Run


class Unsound(Exception):
    """A run of several claims that settles nothing, and how many there were."""

    def __init__(self, why: str, claims: int) -> None:
        super().__init__(why)
        self.claims = claims


@dataclass(slots=True)
class Share:
    """The part that one claim has of a trial."""

    rounds: "Rounds"
    #: what its test reaches, and what it reached as it was, once that is known
    reached: Reached
    reached_before: Reached | None = field(default=None, init=False)
    #: the files of the composed tree that its experiments may change, as they are there
    now: Callable[[Iterable[str]], Contents]
    runs: list[Run] = field(default_factory=list)
    setup_seconds: float = 0.0
    #: the number of these that another claim asked for as well, and is charged for
    saved: int = 0

    @property
    def folder(self) -> Path:
        return self.rounds.trial.folder

    @property
    def log(self) -> str:
        return self.rounds.trial.log

    async def head_of(self, path: str) -> bytes:
        return await self.rounds.trial.head_of(path)

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
        return await self._asked(Asked(self, nodes, times, instruments))

    async def run_again(self, node: str, count: int, times: float) -> list[Run]:
        """One in each turn: the order of the tests differs from turn to turn."""
        return [await self.run(node, times=times) for _ in range(count)]

    async def run_alone(self, node: str, times: float) -> Run:
        return await self._asked(Asked(self, (node,), times, PLAIN, is_alone=True))

    async def _asked(self, asked: "Asked") -> Run:
        self.runs.append(await self.rounds.ask(asked))
        return self.runs[-1]


@dataclass(slots=True, eq=False)
class Asked:
    share: Share
    nodes: tuple[str, ...]
    times: float
    instruments: Instruments
    is_alone: bool = False
    answer: Promise[Run] = field(default_factory=Promise)
    touched: Mapping[str, Touch] = field(default_factory=dict)

    def goes_with(self, other: "Asked") -> bool:
        """Neither of them can notice what the other one changes."""
        mine, its = self.instruments, other.instruments
        is_alike = self._is_of_files == other._is_of_files and mine.plugins == its.plugins and mine.env == its.env
        is_alike = is_alike and mine.is_elsewhere == its.is_elsewhere
        if self.is_alone or other.is_alone or not is_alike or mine.contents is None or its.contents is None:
            return False
        same = {
            path for path in mine.contents.keys() & its.contents.keys() if mine.contents[path] == its.contents[path]
        }
        return not self._notices(other, same) and not other._notices(self, same)

    def _notices(self, other: "Asked", same: Set[str]) -> bool:
        return notices(self._reached, {path: each for path, each in other.touched.items() if path not in same})

    @property
    def _reached(self) -> Reached:
        """The test as it was may reach something else, and nobody has watched one that is new."""
        if any(file_of(node) not in self.share.reached.lines for node in self.nodes):
            return replace(self.share.reached, is_opaque=True)
        if not self.is_otherwise:
            return self.share.reached
        before = self.share.reached_before
        return replace(self.share.reached, is_opaque=True) if before is None else self.share.reached | before

    @property
    def is_otherwise(self) -> bool:
        """Whether its test is not the one that was watched."""
        files = {file_of(node) for node in self.nodes}
        return bool(files & (self.instruments.contents or {}).keys())

    @property
    def _is_of_files(self) -> bool:
        return all("::" not in node for node in self.nodes)


class _Together:
    """What is asked that one run can answer, and the files that it then has in place of the tree's."""

    def __init__(self, asked: Asked) -> None:
        self.asked = [asked]
        self.contents: dict[str, Content | None] = dict(asked.instruments.contents or {})

    def takes(self, asked: Asked) -> bool:
        if not all(asked.goes_with(other) for other in self.asked):
            return False
        contents = dict(asked.instruments.contents or {})
        both = contents.keys() & self.contents.keys()
        now = asked.share.now(sorted(both))
        try:
            contents |= {path: merged(now[path], self.contents[path], contents[path]) for path in both}
        except ValueError:
            return False
        self.asked.append(asked)
        self.contents |= contents
        return True

    @property
    def instruments(self) -> Instruments:
        first = self.asked[0].instruments
        if len(self.asked) == 1:
            return first
        plugins = {**telling(), **first.plugins} if is_watched(first.plugins) else first.plugins
        return replace(first, plugins=plugins, files=self.contents)


def _sorted(asked: Sequence[Asked]) -> list[_Together]:
    """As few runs as a simple look finds. Blocking."""
    runs: list[_Together] = []
    for each in asked:
        each.touched = _touched(each)
        if not any(run.takes(each) for run in runs):
            runs.append(_Together(each))
    return runs


class Rounds:
    def __init__(self, trial: Place, most_times: float) -> None:
        self.trial = trial
        #: no common run has longer than so many tests may take
        self._most_times = most_times
        self._hearings = 0
        self._asked: list[Asked] = []
        self._turns = 0
        self._is_turning = False

    def join(self, hearings: int) -> None:
        self._hearings = hearings

    async def leave(self) -> None:
        """A hearing is over."""
        self._hearings -= 1
        await self._turn()

    async def ask(self, asked: Asked) -> Run:
        self._asked.append(asked)
        await self._turn()
        return await asked.answer.awaited()

    async def _turn(self) -> None:
        """Whoever is the last to ask does what all have asked."""
        if self._is_turning or not self._asked or len(self._asked) < self._hearings:
            return
        self._is_turning = True
        try:
            while self._asked and len(self._asked) >= self._hearings:
                await self._answer_all()
        finally:
            self._is_turning = False

    async def _answer_all(self) -> None:
        asked, self._asked = self._asked, []
        self._turns += 1
        for together in await in_thread(_sorted, asked):
            try:
                answers = await self._run(together)
            except Exception as error:
                for each in together.asked:
                    each.answer.is_error(error)
                continue
            for each, answer in answers:
                each.answer.is_value(answer)

    async def _run(self, together: _Together) -> list[tuple[Asked, Run]]:
        asked = together.asked if self._turns % 2 else together.asked[::-1]
        nodes = list(dict.fromkeys(node for each in asked for node in each.nodes))
        times = sum(each.times for each in asked)
        times = min(times, max(self._most_times, *(each.times for each in asked))) if len(asked) > 1 else times
        run = await self.trial.run(*nodes, times=times, instruments=together.instruments)
        if len(asked) == 1:
            return [(asked[0], run)]
        if why := unsound(run, nodes) or (run.report.uncollected and run.why_not):
            if together.instruments.are_none:
                raise Unsound(why, len(asked))
            return [(each, await self._alone(each)) for each in asked]
        for each in asked[1:]:
            each.share.saved += 1
        return [(each, await in_thread(_heard, each, run, len(asked))) for each in asked]

    async def _alone(self, asked: Asked) -> Run:
        return await self.trial.run(*asked.nodes, times=asked.times, instruments=asked.instruments)


def _touched(asked: Asked) -> dict[str, Touch]:
    changes = asked.instruments.contents or {}
    now = asked.share.now(sorted(changes))
    return {path: touch(path, content, now[path]) for path, content in changes.items()}


def _heard(asked: Asked, run: Run, parts: int) -> Run:
    """Blocking."""
    heard = own(run, asked.nodes, parts)
    if asked.is_otherwise and is_watched(asked.instruments.plugins):
        folder = heard.folder / "plugins"
        notes = read_notes(folder).values() if is_whole(folder) else [Reached(is_opaque=True)]
        asked.share.reached_before = reduce(or_, notes, asked.share.reached_before or Reached())
    return heard
