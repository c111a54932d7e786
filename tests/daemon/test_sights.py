"""What is made of an agent's signs: played signs, the real core."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from supervisor.daemon.attention import ANSWERED_SECONDS, ASKS_SECONDS, USAGE_SECONDS, WAITING_SECONDS, Attention
from supervisor.daemon.windows import EVERY_SECONDS
from supervisor.errors import MngrFailed
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.effect import Launch, Nudge
from supervisor.model.profile import Profile
from supervisor.model.share import WindowShare
from supervisor.model.usage import NOTHING, Usage
from supervisor.ports import AgentAddress, AgentState, LogPiece, SeenAgent, Sight
from tests.flow.world import World
from tests.waiting import until


@dataclass
class Signs:
    """The `Logs` port, where a test says what is to be seen."""

    sight_: Sight = field(default_factory=Sight)
    #: what an agent's host answers; None: it does not
    said: float | None = None
    asked: int = 0

    def watch(self, attempts: Mapping[AttemptKey, Attempt]) -> None: ...

    def learn(self, env: Mapping[str, str]) -> None: ...

    def sight(self, key: AttemptKey) -> Sight | None:
        return self.sight_

    async def active_at(self, attempt: Attempt) -> float | None:
        self.asked += 1
        if self.said is None:
            raise MngrFailed("its host does not answer", reason="provider")
        return self.said

    async def finish(self, attempt: Attempt, *, published: bool) -> Usage:
        return NOTHING

    async def read(self, key: AttemptKey, after: int = 0) -> LogPiece:
        return LogPiece((), after)

    async def close(self) -> None: ...


class Scene:
    """One live agent, and attention that looks whenever the test says so."""

    def __init__(self, pool: str = "local", **profile_: Any) -> None:
        self.world = World(**{pool: 1})
        profile = Profile(**{"pools": (pool,), "stall_timeout_seconds": 600, **profile_})
        self.world.submit(profile=profile).do(Launch)
        self.signs = Signs(Sight(active_at=self.world.now, waits=False, asks=False))
        self.attention = Attention(
            state=lambda: self.world.state, tell=self.hear, clock=lambda: self.world.now, logs=self.signs
        )
        self.told: list[str] = []

    def hear(self, event: ev.Event) -> None:
        self.told.append(event.kind)
        self.world.hear(event)

    def look(self, after: float = 0.0, **sight: object) -> list[str]:
        """What is told, so many seconds later."""
        self.world.wait(after)
        self.signs.sight_ = replace(self.signs.sight_, **sight)  # type: ignore[arg-type]
        self.told = []
        self.attention.look()
        return self.told

    def listed(self, state: AgentState) -> None:
        attempt = self.world.last_attempt()
        self.attention.heard(attempt, SeenAgent(AgentAddress.of(attempt), "n", state), self.world.now)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.attention.run())
        await asyncio.sleep(0)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


def test_waiting_alone_is_no_reason() -> None:
    """A plain command always reads as waiting: only one that shows nothing meanwhile is quiet."""
    scene = Scene()
    for _ in range(10):
        assert scene.look(WAITING_SECONDS - 1, waits=True, active_at=scene.world.now) == []
    assert scene.look(WAITING_SECONDS) == ["agent-fell-quiet"]
    assert scene.look(1) == []
    assert scene.look(1, active_at=scene.world.now) == ["agent-stirred"]


def test_one_at_work_may_be_silent_for_the_whole_stall_time() -> None:
    scene = Scene()
    assert scene.look(599) == []
    assert scene.look(2) == ["agent-fell-quiet"]
    assert scene.look(0, waits=True) == ["agent-fell-quiet"], "it says now that it waits"


def test_one_that_waits_and_was_never_heard_of_is_told_to_begin() -> None:
    """Where it would have been heard: not all kinds of agents keep a transcript."""
    for agent, heard, reason in (
        ("claude", False, "unheard"),
        ("claude", True, "waiting"),
        ("claude", None, "waiting"),
        ("rehearsal", False, "waiting"),
    ):
        scene = Scene(agent=agent)
        assert scene.look(WAITING_SECONDS, waits=True, heard=heard) == ["agent-fell-quiet"]
        assert [event.reason for event in scene.world.wait(1).told(ev.NudgeStarted)] == [reason]


def test_a_request_that_is_answered_by_itself_parks_nobody() -> None:
    scene = Scene()
    assert scene.look(1, asks=True) == []
    assert scene.look(ASKS_SECONDS / 2, asks=True) == []
    assert scene.look(0.1, asks=False) == []
    assert scene.look(0.1, asks=True) == []
    assert scene.look(ASKS_SECONDS, asks=True) == ["job-parked"]
    assert scene.look(3_000) == [], "nobody is told to hurry"
    assert scene.look(1, asks=False) == ["job-unparked"]
    assert scene.look(1) == [], "it was not silent meanwhile"


def test_the_last_word_is_told_when_it_changes() -> None:
    scene = Scene()
    assert scene.look(1, problem="limit", detail="429") == ["agent-hindered"]
    assert scene.look(1) == []
    assert scene.look(1, problem="", detail="") == ["agent-hindered"]


def test_totals_are_written_down_now_and_then() -> None:
    scene = Scene()
    counted = sum(len(scene.look(0.25, usage=Usage(input=n), active_at=scene.world.now)) for n in range(1, 101))
    assert 25 / USAGE_SECONDS <= counted <= 25 / USAGE_SECONDS + 1
    assert scene.look(USAGE_SECONDS, active_at=scene.world.now) in (["usage-counted"], [])
    assert scene.world.job().usage.input == 100


def test_of_all_that_agents_hear_of_a_window_the_newest_is_told_and_not_too_often() -> None:
    scene = Scene()
    now = scene.world.now

    def hears(after: float, used: float) -> list[str]:
        windows = (WindowShare(300, 0.99, now + 3600, now - 60), WindowShare(300, used, now + 3600, scene.world.now))
        return scene.look(after, windows=windows, active_at=scene.world.now)

    assert hears(1, 0.4) == ["account-window-seen"]
    assert hears(1, 0.5) == [], "too soon"
    assert hears(EVERY_SECONDS, 0.5) == ["account-window-seen"]
    assert hears(EVERY_SECONDS, 0.5) == []
    [window] = scene.world.state.accounts["claude"].windows.values()
    assert window.used == 0.5


async def test_a_host_is_asked_before_its_agent_is_called_quiet() -> None:
    scene = Scene("modal")
    scene.signs.sight_ = Sight(active_at=scene.world.now)
    scene.listed("waiting")
    async with scene.running():
        scene.look(WAITING_SECONDS + 1)
        await until("it is asked", lambda: scene.signs.asked == 1)
        assert scene.told == [], "no answer says nothing"
        scene.signs.said = scene.world.now
        scene.look()
        await until("it is asked again", lambda: scene.signs.asked == 2)
        scene.look()
        assert scene.told == [], "it says that its agent is active"
        scene.look(WAITING_SECONDS + 1)
        await until("it is said to be quiet", lambda: scene.told == ["agent-fell-quiet"])


def test_one_that_mngr_lists_as_blocked_is_parked() -> None:
    scene = Scene("modal")
    scene.signs.sight_ = Sight(active_at=scene.world.now)
    scene.listed("blocked")
    assert scene.look() == []
    assert scene.look(ASKS_SECONDS) == ["job-parked"]
    scene.listed("running")
    assert scene.look() == ["job-unparked"]


def test_what_mngr_lists_is_not_believed_for_longer_than_until_the_answer() -> None:
    """A listing is seldom: the next one tells whether the answer was heard."""
    scene = Scene("modal", on_parked="deny")
    scene.signs.sight_ = Sight(active_at=scene.world.now)
    scene.listed("blocked")
    scene.look()
    assert scene.look(ASKS_SECONDS) == ["job-parked"]
    scene.world.wait(0).do(Nudge)
    assert scene.look(1) == ["job-unparked"]
    scene.listed("blocked")
    assert scene.look(ANSWERED_SECONDS) == [], "it was asked too soon"
    scene.listed("blocked")
    assert scene.look(1) == []
    assert scene.look(ASKS_SECONDS) == ["job-parked"]
    assert scene.world.wait(0).told(ev.AgentStalled), "the answer did not help"
