"""A run of several experiments: how long it may take, and what happens when it does not end."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from supervisor.errors import DeviceFailed
from supervisor.model.node import file_of
from supervisor.verification.evidence.laying import Content
from supervisor.verification.together.lanes import Lanes
from supervisor.verification.together.meeting import Standing
from supervisor.verification.together.reaching import Reached
from supervisor.verification.together.sharing import Pace, Rounds, Share
from supervisor.verification.trials.reports import UNENDED, Case, Report, Session
from supervisor.verification.trials.running import Ended
from supervisor.verification.trials.runs import PLAIN, Instruments, Run, View

VIEW = View("", lambda path: Content(b"as it was"), lambda path: Content(b"as it was"))
SESSION = Session("", "", (), (), {}, "9", "", {}, (), {}, {}, exitstatus=1)


@dataclass
class Checkout:
    """Every test fails; of those that never end, the first one holds up the run."""

    folder: Path
    endless: frozenset[str] = frozenset()
    ran: list[tuple[tuple[str, ...], float]] = field(default_factory=list)
    note = ""

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
        self.ran.append((nodes, times))
        cases = {}
        for node in nodes:
            cases[node] = Case("failed", UNENDED if node in self.endless else "it is broken")
            if node in self.endless:
                break
        is_late = bool(self.endless.intersection(nodes))
        report = Report(cases, None if is_late else replace(SESSION, args=nodes))
        return Run("", Ended(None if is_late else 1, ""), report, nodes, 1.0, 1.0, self.folder)


def shares(rounds: Rounds, count: int) -> Sequence[tuple[Share, str]]:
    rounds.join(count)
    nodes = [f"tests/test_{number}.py::test_it" for number in range(count)]
    reached = [Reached({file_of(node): frozenset((1,))}) for node in nodes]
    return [
        (Share(rounds, Standing(VIEW, lambda nodes, each=each: each, Reached())), node)  # type: ignore[misc]
        for each, node in zip(reached, nodes, strict=True)
    ]


async def tried(checkout: Checkout, pace: Pace, count: int, times: float) -> dict[str, Run]:
    """One experiment on each of so many tests, which don't notice each other's."""
    rounds, found = Rounds(checkout, pace, Lanes(lambda: 2)), dict[str, Run]()  # type: ignore[arg-type]

    async def ask(share: Share, node: str, data: str) -> None:
        faulty = Instruments(files={data: Content(b"")})
        [found[node]] = await share.run_each([node], times, [faulty])
        await rounds.leave()

    async with anyio.create_task_group() as hearings:
        for number, (share, node) in enumerate(shares(rounds, count)):
            hearings.start_soon(ask, share, node, f"data/{number}")
    return found


async def test_who_never_ends_runs_alone_and_the_others_together_once_more(tmp_path: Path) -> None:
    endless = frozenset(("tests/test_1.py::test_it", "tests/test_2.py::test_it"))
    checkout = Checkout(tmp_path, endless)
    found = await tried(checkout, Pace(100.0), 5, 1.0)
    assert sorted(len(nodes) for nodes, _ in checkout.ran) == [1, 1, 3, 4, 5]
    assert {node for node, run in found.items() if run.is_late} == endless
    assert all(run.cases[node].result == "failed" for node, run in found.items() if node not in endless)


@pytest.mark.parametrize(
    ("most", "times"),
    [
        pytest.param(100.0, 1.0 + 4 * 0.5, id="what is to spare is added once"),
        pytest.param(2.0, 2.0, id="not longer than a run of all tests"),
        pytest.param(0.0, 1.5, id="not shorter than one of them would be"),
    ],
)
async def test_a_run_of_several_may_take_so_long(tmp_path: Path, most: float, times: float) -> None:
    checkout = Checkout(tmp_path)
    await tried(checkout, Pace(most, spare_times=1.0), 4, 1.5)
    assert [(len(nodes), limit) for nodes, limit in checkout.ran] == [(4, times)]


async def test_a_device_that_fails_is_heard_as_such(tmp_path: Path) -> None:
    """By the hearing of the experiment that it failed for."""

    class Failing(Checkout):
        async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
            if len(nodes) == 1:
                raise DeviceFailed("the disk is full")
            return await super().run(*nodes, times=times, instruments=instruments)

    rounds = Rounds(Failing(tmp_path, frozenset(("tests/test_0.py::test_it",))), Pace(9.0), Lanes(lambda: 2))  # type: ignore[arg-type]
    heard = list[str]()

    async def ask(share: Share, node: str, data: str) -> None:
        try:
            await share.run_each([node], 1.0, [Instruments(files={data: Content(b"")})])
        except DeviceFailed as failed:
            heard.append(failed.message)
        await rounds.leave()

    async with anyio.create_task_group() as hearings:
        for number, (share, node) in enumerate(shares(rounds, 2)):
            hearings.start_soon(ask, share, node, f"data/{number}")
    assert heard == ["the disk is full"] * 2
