"""Caps of accounts, in tokens and in dollars, hold in the gate by itself, and so do people's hours."""

import asyncio
import json
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from supervisor.adapters.gating import Gating, no_room
from supervisor.daemon.gatekeeping import Gatekeeping
from supervisor.flow.governor.allowances import Allowance as Daemons
from supervisor.gate.api import ADDED_TOKENS
from supervisor.gate.claims import Allowance, Price
from supervisor.gate.counts import TurnedAway
from supervisor.gate.keys import Attempt, Pass
from supervisor.gate.limits import obstacle
from supervisor.gate.tokens import Tokens
from supervisor.ports.gate import Told
from tests.flow.test_spending import capped
from tests.gate.box import Box, box
from tests.gate.gates import ASKS, ATTEMPT, BOTH, Open, gate
from tests.gate.provider import STREAM, Reply, message
from tests.waiting import until

#: the most that one of them can read, and write
READS, WRITES = len(json.dumps(ASKS, separators=(",", ":"))) + ADDED_TOKENS, 100
MOST = READS + WRITES
TAKES = 110
HOUR = 3600.0
OTHER: Attempt = ("other", 1, 1)
#: of what a request takes: 11 read, 22 written to a cache, 33 read from it, 44 written
PRICE, COSTS = Price("", 1.0, 2.0, 0.5, 10.0), round(11 * 1 + 22 * 2 + 33 * 0.5 + 44 * 10)


def today(most: int, *, purse: str = "account work", pot: str = "today", **fields: object) -> Allowance:
    now = time.time()
    told = Allowance(purse, pot, f"{purse}: tokens a day", False, now - HOUR, now + HOUR, most)
    return told._replace(**fields)  # type: ignore[arg-type]


def of_account(here: Open, *allowances: Allowance, attempt: Attempt = ATTEMPT) -> str:
    """A key of an agent of that account."""
    here.keys.put_allowances(allowances)
    return here.keys.issue(attempt, BOTH, [f"batch {attempt[0]}", "account work"])


async def test_what_might_exceed_the_accounts_day_is_refused_as_a_limit_that_ends(tmp_path: Path) -> None:
    """As agents and the daemon know it of a subscription: nobody has failed."""
    async with gate(tmp_path) as here:
        key = of_account(here, told := today(MOST + TAKES))
        answers = [await here.ask(key=key) for _ in range(3)]

        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert here.counts.spent()["today"] == 2 * TAKES
        refused = answers[-1]
        assert refused.json()["error"]["message"] == (
            f"the gate has no room for this request: account work: tokens a day: {2 * TAKES} of {MOST + TAKES:,} "
            f"tokens are spent, and it could take {MOST:,} tokens; usage limit reached|{told.until:.0f}"
        )
        assert refused.headers["x-should-retry"] == "false"
        assert HOUR - 60 < int(refused.headers["retry-after"]) <= HOUR + 1
        away = here.counts.turned_away()["today"]
        assert (away.spent, away.cap, away.wanted) == (2 * TAKES, MOST + TAKES, MOST)


async def test_its_words_are_those_of_a_window_that_is_used_up(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        key = of_account(here, told := today(10))
        answer = await here.ask(key=key)
        headers = {name: value for name, value in answer.headers.items() if name != "x-should-retry"}
        found = obstacle(429, headers, answer.content, time.time())
        assert found is not None
        assert (found.why, found.until) == ("window", round(told.until))


async def test_it_holds_for_all_batches_of_the_account_together_and_a_pot_for_all_accounts(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        shared = [today(MOST + 2 * TAKES, purse=f"account {name}", pot="all") for name in ("work", "spare")]
        keys = [of_account(here, *shared), of_account(here, *shared, attempt=OTHER)]
        keys.append(here.keys.issue(("third", 1, 1), BOTH, ["account spare"]))
        assert [(await here.ask(key=key)).status_code for key in (*keys, keys[0])] == [200, 200, 200, 429]


async def test_dollars_are_counted_by_kind_and_reserved_at_the_dearest(tmp_path: Path) -> None:
    most = READS * 2 + WRITES * 10
    async with gate(tmp_path) as here:
        here.keys.put_prices([Price("dear", 9.0, 9.0, 9.0, 99.0), PRICE])
        key = of_account(here, today(most + COSTS, name="account work: dollars a day", is_money=True))
        answers = [await here.ask(key=key) for _ in range(3)]

        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert here.counts.spent()["today"] == 2 * COSTS
        assert f"$0.00 of ${(most + COSTS) / 1e6:.2f} are spent" in answers[-1].json()["error"]["message"]
        assert (await here.ask(key=key, model="the-dear-one")).status_code == 429


async def test_a_new_day_has_a_pot_of_its_own_and_who_finds_the_old_one_empty_waits_if_it_is_near(
    tmp_path: Path,
) -> None:
    """No daemon has to be there at midnight."""
    midnight = time.time() + 3.0
    days = today(0, until=midnight), today(MOST, pot="tomorrow", since=midnight)
    async with gate(tmp_path, hold=20.0) as here:
        key = of_account(here, *days)
        async with anyio.create_task_group() as tasks:
            asked = asyncio.create_task(here.ask(key=key))
            await until("it is held", lambda: [held.why for held in here.counts.held()] == ["cap"])
            assert not here.provider.asked
            assert (await asked).status_code == 200
            tasks.cancel_scope.cancel()
        assert here.provider.asked[0].at >= midnight
        assert here.counts.spent()["tomorrow"] == TAKES
        assert (await here.ask(key=key)).status_code == 429


async def test_in_the_hours_of_people_nothing_is_asked(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        key = of_account(here, told := today(0, name="account work: people use it at 9:00-18:00"))
        answer = await here.ask(key=key)
        assert (answer.status_code, here.provider.asked) == (429, [])
        assert answer.json()["error"]["message"] == (
            f"the gate has no room for this request: account work: people use it at 9:00-18:00; "
            f"usage limit reached|{told.until:.0f}"
        )


async def test_a_batch_without_dollars_is_refused_for_good(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        here.keys.put_prices([PRICE])
        key = of_account(here, today(10, purse="batch batch", name="batch batch", is_money=True, until=0.0))
        answer = await here.ask(key=key)
        assert (answer.status_code, answer.json()["error"]["type"]) == (402, "billing_error")


async def test_while_reservations_are_in_the_way_it_waits_for_them(tmp_path: Path) -> None:
    go = threading.Event()
    async with gate(tmp_path, Reply(events=message(), waits=(1, go)), STREAM) as here:
        key = of_account(here, today(MOST + TAKES))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(here.ask, key=key))
            await until("the first is under way", lambda: here.provider.asked)
            tasks.start_soon(partial(here.ask, key=key))
            await until("the second waits", lambda: [held.why for held in here.counts.held()] == ["room"])
            assert len(here.provider.asked) == 1
            go.set()
        assert here.counts.spent()["today"] == 2 * TAKES


async def test_a_gate_that_is_killed_leaves_what_was_reserved_as_spent_in_tokens_and_in_dollars(
    tmp_path: Path,
) -> None:
    go = threading.Event()
    with box(tmp_path, Reply(events=message(), waits=(2, go))) as here:
        here.keys.put_prices([PRICE])
        money = today(10**9, pot="dollars", name="account work: dollars a day", is_money=True)
        here.keys.put_allowances([today(10**6), money])
        here.key = here.keys.issue(ATTEMPT, BOTH, ["account work"])
        with here.running() as process:
            asked = asyncio.create_task(here.ask())
            await until("it is under way", lambda: here.provider.asked)
            process.kill()
            await asyncio.wait([asked])
            assert asked.exception() is not None
        go.set()
        with here.running():
            await until("the next gate has counted it", here.counts.spent)
            spent = here.counts.spent()
        body = len(here.provider.asked[0].body) + ADDED_TOKENS
        assert (spent["today"], spent["dollars"]) == (body + WRITES, body * 2 + WRITES * 10)


@pytest.mark.parametrize("model", ["m", "The-M-one"])
def test_the_first_price_that_matches_counts(tmp_path: Path, model: str) -> None:
    with box(tmp_path) as here:
        here.keys.put_prices([Price("other", 9, 9, 9, 9), Price("m", 1, 1, 1, 1), Price("", 5, 5, 5, 5)])
        assert here.keys.price(model).input == 1


# --- as the daemon tells it


def granted(here: Box, gating: Gating, spent: int, most: int = 1000) -> int:
    told = Told({}, [Daemons("work", "", "today", "account work: tokens a day", False, 0.0, 2e9, most, spent)])
    asyncio.run(gating.look({}, told))
    return here.keys.allowances("account work", time.time())[0].most


async def test_every_cap_is_known_to_the_gate_before_an_agent_has_a_key(tmp_path: Path) -> None:
    """Also of an account that was configured a moment ago."""
    with box(tmp_path) as here, closing(Gating(here.folder / "state", "", [])) as gating:
        world = capped(500)
        keeping = Gatekeeping(state=lambda: world.state, tell=world.hear, clock=lambda: world.now, gate=gating)

        async def launch() -> None:
            known.extend(here.keys.allowances("account claude", world.now))

        known = list[Allowance]()
        await keeping.before(launch)()
    assert [each.name for each in known] == ["account claude: tokens a day"]


def test_what_agents_took_that_do_not_go_through_the_gate_is_not_granted_to_those_that_do(tmp_path: Path) -> None:
    """The daemon counts all of them, a little later than the gate; nothing counts twice."""
    with box(tmp_path) as here, closing(Gating(here.folder / "state", "", [])) as gating:
        assert granted(here, gating, spent=500) == 500
        owner = Pass(ATTEMPT, BOTH, ("account work",))
        id_ = here.counts.reserve(owner, "work", "m", 400, {"today": 400})
        here.counts.settle(id_, {"today": 300}, Tokens(input=300), 0)
        assert granted(here, gating, spent=700) == 500
        assert granted(here, gating, spent=900) == 400
        assert granted(here, gating, spent=9000) == 0


def test_only_who_still_would_not_fit_pauses_an_account_or_stops_a_batch() -> None:
    def told(most: int, account: str = "work", batch: str = "", *, is_closed: bool = False) -> Told:
        name = "account work: dollars a day"
        return Told({}, [Daemons(account, batch, "today", name, True, 0.0, 2e9, most, 0, is_closed)])

    away = {"today": TurnedAway("today", 1.0, 900_000, 950_000, 60_000)}
    said = "the gate has refused a request: it could take $0.06, and $0.90 of $0.95 are spent"
    assert no_room(told(950_000), away, {}).accounts == {"work": (2e9, f"account work: dollars a day: {said}")}
    assert no_room(told(950_000, "", "b"), away, {}).batches == {"b": said}
    assert not no_room(told(960_000), away, {}).accounts, "the cap was raised"
    assert no_room(told(960_000), away, {"today": 1}).accounts, "but others took of it"
    assert not no_room(told(0, is_closed=True), away, {}).accounts, "its hours are known to the daemon"
