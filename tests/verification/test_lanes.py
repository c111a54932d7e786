"""How the runs of a group are divided, and how many of them are under way."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.verification.together.lanes import Lanes
from supervisor.verification.together.sharing import LEAST_SECONDS, Pace
from supervisor.verification.together.watching import shared


async def test_no_more_runs_are_under_way_than_there_are_lanes() -> None:
    width, under_way, most = 1, 0, list[int]()
    lanes = Lanes(lambda: width)
    ends = anyio.Semaphore(0)

    async def run() -> None:
        nonlocal under_way
        async with lanes.one():
            under_way += 1
            most.append(under_way)
            await ends.acquire()
            under_way -= 1

    async with anyio.create_task_group() as runs:
        for _ in range(6):
            runs.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        assert most == [1]
        width = 3
        ends.release()
        await anyio.wait_all_tasks_blocked()
        assert under_way == 3, "the slots that fell free are used"
        width = 0
        for _ in range(2):
            ends.release()
            await anyio.wait_all_tasks_blocked()
        assert under_way == 1, "one run always goes on"
        for _ in range(3):
            ends.release()
    assert max(most) == 3


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 100), min_size=1), st.integers(1, 8))
def test_files_are_divided_into_runs_of_about_the_same_length(seconds: dict[str, float], width: int) -> None:
    shares = shared(seconds, width)
    assert sorted(name for share in shares for name in share) == sorted(seconds)
    assert len(shares) <= width
    lengths = [sum(seconds[name] for name in share) for share in shares]
    assert max(lengths) - min(lengths) <= max(seconds.values()) + 1e-6


def test_no_run_is_too_short_to_be_worth_its_start() -> None:
    assert shared({"a": LEAST_SECONDS / 3, "b": LEAST_SECONDS / 3}, 4) == [["a", "b"]]


@pytest.mark.parametrize(
    ("tests", "width", "each", "most"),
    [(32, 1, 1.0, 32), (32, 4, 1.0, 8), (32, 4, LEAST_SECONDS / 20, 20), (3, 4, 10.0, 1), (32, 4, 0.0, 32)],
)
def test_so_many_tests_go_into_a_run(tests: int, width: int, each: float, most: int) -> None:
    assert Pace(10.0, each=each).most_tests(tests, width) == most
