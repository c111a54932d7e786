"""Accounts are shown with what they may use, have used and reserved, their levels, and why they are paused."""

from supervisor.cli.budgeting import budget_text
from supervisor.cli.printing import event_line
from supervisor.model import event as ev
from supervisor.model.account import AccountSpec, Budget, Caps
from supervisor.model.effect import Launch
from supervisor.model.profile import Profile
from supervisor.model.waking import Waking
from supervisor.observe.budget import budget
from supervisor.observe.stream import as_data
from supervisor.ports import Record
from tests.flow.world import World


def spending() -> World:
    world = World(local=2)
    specs = (
        AccountSpec("claude", caps=Caps(day_tokens=10_000)),
        AccountSpec("paid", is_paid=True, caps=Caps(day_dollars=2)),
    )
    world.happens(ev.AccountsConfigured(world.now, specs, Budget(guess_tokens=1000)))
    world.submit("b", 2, profile=Profile(slots=1, budget_tokens=5000))
    world.submit("c", 2, profile=Profile(slots=1, accounts=("paid",))).do(Launch)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, input=300, written=200, output=100, model="opus"))
    return world.happens(ev.UsageCounted(world.now, "c", 1, 1, output=1000, model="opus"))


def test_it_shows_what_is_spent_and_reserved_apart_by_currency() -> None:
    world = spending()
    shown = budget(world.state, world.now)
    claude, paid = shown["accounts"]
    assert claude["tokens"] == {"input": 100, "cache_write": 200, "cache_read": 0, "output": 100}
    [limit] = claude["limits"]
    assert (limit["spent"], limit["reserved"], limit["cap"], limit["unit"]) == (400, 600, 10_000, "tokens")
    assert limit["resets_at"] == "2025-01-16T00:00:00.000Z"
    assert (claude["dollars"], paid["dollars"]) == (None, 0.025)
    assert [limit["unit"] for limit in paid["limits"]] == ["dollars"]
    assert shown["batches"] == [{"id": "b", "limits": [{"unit": "tokens", "cap": 5000, "spent": 400}]}]


def test_it_says_why_an_account_is_paused_and_until_when() -> None:
    world = spending()
    until = world.now + 3600
    world.happens(
        ev.AgentHindered(world.now, "b", 1, 1, problem="window", until=until, since=world.now, detail="resets at 1pm")
    )
    text = budget_text(budget(world.state, world.now))
    assert "the account claude has used up what it may use for now (resets at 1pm); it is used again from" in text
    assert "$2.00" in text
    assert "batch b: tokens" in text


def test_it_shows_what_is_used_of_a_subscriptions_windows() -> None:
    world = spending()
    specs = (AccountSpec("claude", leave=0.2),)
    world.happens(ev.AccountsConfigured(world.now, specs, Budget()))
    until = world.now + 3600
    world.happens(ev.AccountWindowSeen(world.now, "claude", 300, 0.425, until, world.now))
    shown = budget(world.state, world.now)
    assert shown["accounts"][0]["windows"] == [
        {
            "name": "5h",
            "used": 0.425,
            "cap": 0.8,
            "resets_at": "2025-01-15T13:00:00.000Z",
            "told_at": "2025-01-15T12:00:00.000Z",
        }
    ]
    text = budget_text(shown)
    assert "account claude: 5h  42.5 %  80 %        2025-01-15T13:00:00.000Z" in text
    assert not budget(world.state, until)["accounts"][0]["windows"], "that window is over"


def test_it_says_how_much_those_that_sleep_would_send_again() -> None:
    world = spending()
    until = world.now + 300
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, input=300, output=200, model="opus", context=450))
    world.happens(ev.AgentHindered(world.now, "b", 1, 1, problem="overload", until=until, since=world.now))
    world.happens(ev.AgentFellQuiet(world.now, "b", 1, 1, since=world.now, waits=True))
    shown = budget(world.state, world.now)
    assert [(each["asleep"], each["asleep_tokens"]) for each in shown["accounts"]] == [(1, 450), (0, 0)]
    assert "1 agent sleeps on the account claude: going on sends 450 tokens again" in budget_text(shown)


def test_without_accounts_it_says_so() -> None:
    assert budget_text({"accounts": [], "batches": []}) == "no account is used or configured yet"


def test_events_tell_what_was_sent_again_and_with_what_an_agent_begins() -> None:
    costs = Waking(180_000, cold=True, cost=1_125_000, instead=700_000, per_token=5.0)
    told = event_line(as_data(Record(7, ev.NudgeStarted(0.0, "b", 1, 1, reason="again", waking=costs))))
    assert told.endswith("nudge-started         again, 180,000 tokens are sent again, not cached")
    declined = event_line(as_data(Record(8, ev.WakingDeclined(0.0, "b", 1, 1, detail=costs.told, waking=costs))))
    assert "at a cost of 225,000 new tokens; starting its job again costs about 140,000 new tokens" in declined
    launch = ev.LaunchStarted(0.0, "b", 1, 2, "agent-2", "sv-b-1-2", "local", "local", continues=1)
    assert event_line(as_data(Record(9, launch))).endswith("sv-b-1-2, with what attempt 1 left")
