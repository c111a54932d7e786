"""`supervisorctl alerts`, and the whole way from what happens to who is told of it."""

import json
from pathlib import Path

import pytest

from supervisor.adapters.alerts.delivery import Delivery
from supervisor.adapters.alerts.webhook import Webhook
from supervisor.daemon.alerting import Alerting
from supervisor.model import event as ev
from supervisor.model.alert import DEFAULT_RULES, AlertKind, Rule
from supervisor.settings import alert_rules, load, shown
from supervisor.tasks import beside
from tests.alerts.listening import listening
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.waiting import until


def watching(api: Served, *rules: Rule) -> Alerting:
    clock = api.desk.clock
    return Alerting(state=lambda: api.loop.state, tell=api.loop.inbox.tell, clock=clock, rules=lambda: rules)


async def test_a_pause_is_told_and_its_end_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.daemon.alerting.LOOK_SECONDS", 0.05)
    with listening() as listener:
        async with served(tmp_path) as api:
            assert (await ctl(tmp_path, "alerts")).out == "no alert holds\n"
            hook = Webhook("team", lambda: listener.url)
            delivery = Delivery(hook, api.journal, api.desk.stream, tmp_path / "alerts", api.desk.clock)
            object.__setattr__(api.desk, "receivers", lambda: {"team": delivery.told.data})
            async with beside() as tasks:
                tasks.start_soon(delivery.run)
                tasks.start_soon(watching(api, Rule(AlertKind.PAUSED, 0.0)).alerts)
                await until("it follows", lambda: (tmp_path / "alerts" / "team.json").exists())
                await ctl(tmp_path, "pause")
                await until("it is told", lambda: listener.heard)
                shown = (await ctl(tmp_path, "alerts")).out
                assert "the queue has been paused for " in shown
                assert "team" in shown.splitlines()[-1]
                assert [alert["kind"] for alert in (await ctl(tmp_path, "alerts", "--json")).json["rows"]] == [
                    "paused"
                ]
                await ctl(tmp_path, "resume")
                await until("its end is told", lambda: len(listener.heard) == 2)
            assert (await ctl(tmp_path, "alerts")).out.startswith("no alert holds\n")
            assert "paused" in (await ctl(tmp_path, "alerts", "--all")).out
            assert "alert-resolved" in (await ctl(tmp_path, "events")).out


async def test_the_pattern_that_paused_a_batch_is_shown(tmp_path: Path) -> None:
    async with served(tmp_path, slots=1) as api:
        batch = await api.submit(*(f"tests/test_it.py::test_{n}" for n in range(20)))
        for job in range(1, 6):
            await until("its agent works", lambda: api.loop.state.batches[batch].job(job).state == "running")  # noqa: B023
            key = (batch, job, 1)
            api.loop.inbox.tell(ev.TimeRanOut(api.desk.clock(), *key))
        await until("it is paused", lambda: api.loop.state.batches[batch].stop.reason)
        shown = (await ctl(tmp_path, "status", batch)).out
        assert "stopped: breaker" in shown
        assert "failures    5 jobs timed-out while running: not done within 3600 s" in shown
        assert f"run `supervisorctl resume {batch}`" in shown
        assert (await ctl(tmp_path, "wait", batch)).code == 7
        assert (await ctl(tmp_path, "follow", batch)).code == 7
        found = (await ctl(tmp_path, "status", batch, "--json")).json["batch"]
        assert found["stopped"] == "breaker"
        assert [(each["stage"], each["outcome"], each["count"]) for each in found["patterns"]] == [
            ("running", "timed-out", 5)
        ]
        assert found["patterns"][0]["jobs"] == [f"{batch}.{job}" for job in range(1, 6)]
        assert (await ctl(tmp_path, "resume", batch)).code == 0
        await until("it goes on", lambda: api.loop.state.batches[batch].job(6).state == "running")


def test_rules_that_are_not_mentioned_keep_their_defaults(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[[alerts]]\nwhen = "paused"\nafter = "30m"\n[[alerts]]\nwhen = "budget"\nenabled = false\n')
    found = {rule.kind: rule.limit for rule in alert_rules(load(config).alerts)}
    defaults = {rule.kind: rule.limit for rule in DEFAULT_RULES}
    assert found == {
        kind: 1800 if kind == "paused" else limit for kind, limit in defaults.items() if kind != "budget"
    }


async def test_a_rule_with_another_ones_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[[alerts]]\nwhen = "paused"\njobs = 3\n')
    (await ctl(tmp_path, "config", "check", "c.toml")).refused(2, "has no `jobs`: its number is `after`")
    (tmp_path / "c.toml").write_text('[[webhooks]]\nname = "team"\nurl = "chat.example"\n')
    (await ctl(tmp_path, "config", "check", "c.toml")).refused(2, "it must be a URL, or name where one is kept")
    (tmp_path / "c.toml").write_text('[mail]\nto = ["-oQ/tmp"]\n')
    (await ctl(tmp_path, "config", "check", "c.toml")).refused(2, "is not a mail address")


def test_the_daemon_does_not_show_a_url(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[[webhooks]]\nname = "team"\nurl = "https://chat.example/s3cret"\n')
    assert "s3cret" not in json.dumps(shown(load(tmp_path / "c.toml")))
