"""What share of a subscription's windows is used: from the headers of real providers to the daemon."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import time

import pytest

from supervisor.adapters.gating import Gating
from supervisor.gate.windows import windows
from supervisor.model import event as ev
from supervisor.model.account import CAP
from supervisor.model.attempt import AttemptKey
from supervisor.ports.gate import Told
from tests.gate.box import box
from tests.gate.gates import ATTEMPT, gate
from tests.gate.provider import STREAM, refusal
from tests.gate.test_daemon import behind
from tests.waiting import until_sync

NOW = 1_795_090_000.0
HOUR = 3600.0
#: as Anthropic answers a subscription
UNIFIED = {
    "anthropic-ratelimit-unified-status": "allowed",
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
    "anthropic-ratelimit-unified-5h-status": "allowed",
    "anthropic-ratelimit-unified-5h-utilization": "0.42",
    "anthropic-ratelimit-unified-5h-reset": "1795098600",
    "anthropic-ratelimit-unified-7d-utilization": "0.1857",
    "anthropic-ratelimit-unified-7d-reset": "1795350600",
    "anthropic-ratelimit-unified-7d_sonnet-utilization": "0.99",
    "anthropic-ratelimit-unified-7d_sonnet-reset": "1795350600",
    "anthropic-ratelimit-unified-overage-utilization": "0.0",
}
#: as codex reads them of OpenAI's answers
CODEX = {
    "x-codex-primary-used-percent": "42.5",
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": "1795098619",
    "x-codex-secondary-used-percent": "13",
    "x-codex-secondary-window-minutes": "10080",
    "x-codex-secondary-reset-after-seconds": "260619",
    "x-codex-bengalfox-primary-used-percent": "100",
}


def told(headers: dict[str, str]) -> list[tuple[int, float, float]]:
    return [(each.minutes, each.used, each.resets_at) for each in windows("work", headers, NOW)]


def test_anthropics_for_all_models() -> None:
    assert told(UNIFIED) == [(300, 0.42, 1_795_098_600), (10_080, 0.1857, 1_795_350_600)]


def test_those_that_codex_reads() -> None:
    assert told(CODEX) == [(300, 0.425, 1_795_098_619), (10_080, 0.13, NOW + 260_619)]


@pytest.mark.parametrize("wrong", ["", "-1", "nan", "inf", "1e9", "0.5, 0.6", "9" * 40, "٤٢"])
def test_what_is_no_number_says_nothing(wrong: str) -> None:
    assert not told(dict.fromkeys(UNIFIED, wrong) | dict.fromkeys(CODEX, wrong))


def test_without_a_reset_or_a_length_nothing_is_known() -> None:
    assert not told({name: value for name, value in UNIFIED.items() if not name.endswith("-reset")})
    assert not told({name: value for name, value in CODEX.items() if not name.endswith("-minutes")})


def test_there_are_not_many() -> None:
    many = {
        f"anthropic-ratelimit-unified-{n}h-{what}": "1" for n in range(1, 50) for what in ("utilization", "reset")
    }
    assert len(told(many)) == 4


def headers(used: float, left: float = 2 * HOUR) -> dict[str, str]:
    name = "anthropic-ratelimit-unified-5h"
    return {f"{name}-utilization": str(used), f"{name}-reset": str(round(time() + left))}


async def test_the_gate_notes_what_changes_also_of_what_is_refused(tmp_path: Path) -> None:
    replies = [
        replace(STREAM, headers=headers(0.42)),
        replace(STREAM, headers=headers(0.421)),
        replace(refusal(400), headers=headers(0.5)),
    ]
    async with gate(tmp_path, *replies) as here:
        await here.ask()
        [first] = here.counts.windows()
        await here.ask()
        assert here.counts.windows() == [first]
        await here.ask()
        [last] = here.counts.windows()
    assert (first.account, first.minutes, first.used, last.used) == ("work", 300, 0.42, 0.5)
    assert abs(last.resets_at - time() - 2 * HOUR) < 30


async def test_the_daemon_hears_of_it_for_each_account_that_it_has_served(tmp_path: Path) -> None:
    """Also when the agent has ended before anybody looked."""
    async with gate(tmp_path, replace(STREAM, headers=headers(0.42))) as here:
        with closing(Gating(tmp_path / "state", "", [])) as gating:
            alive = {AttemptKey(*ATTEMPT): "team", AttemptKey("batch", 2, 1): "other"}
            assert not (await gating.look(alive, Told({}))).windows
            await here.ask()
            [(account, window)] = (await gating.look({}, Told({}))).windows
            assert (account, window.minutes, window.used) == ("team", 300, 0.42)
            assert (await gating.look({}, Told({}))).windows == [(account, window)]


def test_the_share_for_people_is_left_to_them(tmp_path: Path) -> None:
    """Daemon, gate and agents: nobody is launched any more, also by a daemon that is started again."""
    team = {"leave": 0.2, "start": 1}
    with box(tmp_path, account="") as here, here.running():
        here.provider.always = replace(STREAM, headers=headers(0.85))
        profile = {"env": {"REQUESTS": "2"}, "accounts": ["team"]}
        with behind(here, jobs=20, more={"accounts": {"team": team}}, **profile) as made:
            log = tmp_path / "daemon.log"
            with log.open("w") as out, made.start(log=out) as daemon:
                until_sync("the account is paused", lambda: "account-paused" in log.read_text(), 60)
                daemon.kill()
            with log.open("a") as out, made.start(log=out) as daemon:
                until_sync("its agents are put away", lambda: is_over(log), 60)
                daemon.kill()
            events = made.events()
    seen = next(event for event in events if isinstance(event, ev.AccountWindowSeen))
    [paused] = [event for event in events if isinstance(event, ev.AccountPaused)]
    assert (seen.account, seen.minutes, seen.used) == ("team", 300, 0.85)
    assert (paused.account, paused.reason) == ("team", CAP)
    assert paused.detail == "85 % of its 5-hour window are used, and 20 % are left for people"
    assert seen.resets_at <= paused.until <= seen.resets_at + 60
    assert not [event for event in events[events.index(paused) :] if isinstance(event, ev.LaunchStarted)]


def is_over(log: Path) -> bool:
    """By what the daemons have written."""
    text = log.read_text()
    return text.count("launch-started") == text.count("agent-released")
