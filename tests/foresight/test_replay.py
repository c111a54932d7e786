"""A batch that is replayed: the same under the same settings, and what must be so under others."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from supervisor.foresight.recording import Agent, Answer, FilesRun, Group, Recording, record
from supervisor.foresight.replay import Other, Replayed, replay
from supervisor.foresight.sizes import Line, fitted
from supervisor.model import event as ev
from supervisor.model.account import AccountSpec, Budget, Caps
from supervisor.model.attempt import AttemptKey
from supervisor.model.profile import Profile

AT = 1_736_942_400.0
POOLS = ev.PoolsConfigured(AT, (ev.PoolSpec("local", "local", 2),), 1)
FASTER = Other(slots={"local": 4})


def agent(job: int, attempt: int, work: float, *, dies: bool = False, tokens: int = 1000) -> Agent:
    """Launched in 2 s; collected in 1 s; put away in 3 s."""
    key = AttemptKey("b", job, attempt)
    made, end = Agent(), (ev.AgentVanished if dies else ev.WorkPublished)(AT, *key)
    home = ev.WorkRescued(AT, *key) if dies else ev.WorkCollected(AT, *key, claim="clean")
    made.answers[ev.LaunchStarted] = [Answer(2.0, ev.LaunchSucceeded(AT, *key, host_id="h"))]
    made.heard = [Answer(work / 2, ev.UsageCounted(AT, *key, input=tokens)), Answer(work, end)]
    made.answers[ev.CollectStarted] = [Answer(1.0, home)]
    made.answers[ev.ReleaseStarted] = [Answer(3.0, ev.AgentReleased(AT, *key))]
    return made


def group_of(attempt: int, took: float) -> Group:
    """Of one claim, of no job here: only its time counts."""
    return Group({(0, attempt): Answer(took, ev.WorkVerified(AT, "b", 0, attempt, outcome="fixed"))})


def a_night(works: list[float], dying: frozenset[int] = frozenset(), **profile: object) -> Recording:
    """One job for each of these times; the first agents of some die. A claim is verified in 5 s."""
    tests = tuple(f"t.py::test_{number}" for number in range(1, len(works) + 1))
    made = Recording(ev.BatchSubmitted(AT, "b", "/repo", "0" * 40, tests, replace(Profile(), **profile)))  # type: ignore[arg-type]
    for job, work in enumerate(works, 1):
        made.agents[job, 1] = agent(job, 1, work, dies=job in dying)
        if job in dying:
            made.agents[job, 2] = agent(job, 2, work)
    made.groups = [group_of(number, 5.0) for number in (1, 2)]
    made.surveyed = {("x.py",): FilesRun(1.0, ev.SurveyEnded(AT, "b", 1))}
    return made


def order(found: Replayed) -> list[tuple[int, int]]:
    return [(each.job, each.attempt) for each in found.launches]


def seconds(found: Replayed) -> float:
    assert found.ended is not None, "it never ends"
    return found.ended - found.began


works = st.lists(st.floats(1, 300), min_size=1, max_size=12)


@given(works, st.frozensets(st.integers(1, 12), max_size=3))
def test_a_replay_is_recorded_and_replayed_to_the_same(times: list[float], dying: frozenset[int]) -> None:
    first = replay(a_night(times, dying), POOLS, Other())
    recorded = record(first.events)
    assert recorded is not None
    again = replay(recorded, POOLS, Other())
    assert order(again) == order(first)
    assert abs(seconds(again) - seconds(first)) < 0.1
    assert again.guessed == 0
    assert again.batch.usage == first.batch.usage
    assert len(order(first)) == len(times) + len([job for job in dying if job <= len(times)])


@given(works)
def test_with_more_slots_no_more_agents_than_slots_and_no_later_launch(times: list[float]) -> None:
    slow, fast = (replay(a_night(times), POOLS, other) for other in (Other(), FASTER))
    assert slow.most_agents <= 2
    assert fast.most_agents <= 4
    last = [max(each.at for each in found.launches) for found in (slow, fast)]
    assert last[1] <= last[0] + 0.1
    assert sorted(order(fast)) == sorted(order(slow))


def test_twice_the_slots_take_half_the_time_where_agents_are_what_it_waits_for() -> None:
    night = a_night([100.0] * 8, survey="off")
    assert 4 * 103 <= seconds(replay(night, POOLS, Other())) <= 4 * 103 + 30
    assert 2 * 103 <= seconds(replay(night, POOLS, FASTER)) <= 2 * 103 + 30


def test_more_verify_slots_help_where_verification_is_what_it_waits_for() -> None:
    night = a_night([1.0] * 8, verify_group=1)
    night.groups = [group_of(1, 60.0)]
    slow, fast = (seconds(replay(night, POOLS, Other(verify_slots=slots))) for slots in (1, 4))
    assert slow > 1.8 * fast


def test_a_smaller_budget_leaves_jobs_undone() -> None:
    found = replay(a_night([100.0] * 8), POOLS, Other(budget=3500))
    assert found.batch.stop.reason == "budget"
    assert len(found.launches) < 8
    assert seconds(found) > 0


def test_an_account_serves_no_more_agents_than_its_level() -> None:
    night, level = a_night([100.0] * 8), ev.LevelChanged(AT, "claude", 1, "it refused some")
    low = replay(night, POOLS, FASTER, [level])
    assert low.launches[1].at > low.launches[0].at, "it begins with one agent"
    assert replay(night, POOLS, FASTER).launches[1].at == low.launches[0].at
    spent = ev.AccountsConfigured(AT, (AccountSpec("claude", caps=Caps(day_tokens=3000)),), Budget(guess_tokens=500))
    assert len(replay(night, POOLS, FASTER, [spent]).launches) == 8, "the rest goes on the days that follow"


def test_a_window_is_waited_for() -> None:
    """It was noon."""
    found = replay(a_night([10.0]), POOLS, Other(window="22:00-06:00"))
    assert found.launches[0].at - found.began == 10 * 3600


def test_an_attempt_that_was_never_made_takes_what_another_one_took() -> None:
    night = a_night([100.0] * 4)
    del night.agents[3, 1], night.agents[4, 1]
    found = replay(night, POOLS, Other())
    assert found.guessed == 2
    assert len(found.launches) == 4


def test_a_batch_that_was_never_submitted_has_no_recording() -> None:
    assert record([ev.BatchPaused(AT, "b")]) is None


def test_a_time_by_size_is_never_negative() -> None:
    assert fitted([]) == Line()
    assert fitted([(2, 10.0), (4, 14.0)]) == Line(6.0, 2.0)
    assert fitted([(3, 9.0)]).at(3) == 9.0
    assert fitted([(2, 10.0), (4, 6.0)]).at(100) == 8.0
