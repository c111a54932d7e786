"""`config show`: every key with its value, and where that comes from."""

from pathlib import Path

from tests.cli.running import ctl


async def test_every_value_says_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[mngr]\nlist_seconds = 5\n[profiles.night]\nslots = 2\n")
    ran = await ctl(tmp_path, "config", "show", "c.toml", "--origin", SUPERVISOR_MNGR__WARM="false")
    lines = ran.out.splitlines()
    assert "mngr.warm = false    # environment" in lines
    assert "mngr.list_seconds = 5.0    # file c.toml" in lines
    assert "profiles.night.slots = 2    # file c.toml" in lines
    assert "profiles.night.retries = 1    # default or inherited" in lines


async def test_a_provider_that_would_end_an_agent_before_its_time_is_refused(tmp_path: Path) -> None:
    """By `config check`, and by `doctor` among the other problems."""
    text = '[[pools]]\nname = "cloud"\nprovider = "modal"\n{}\n[profiles.default]\npools = ["cloud"]\n'
    here, short = str(tmp_path), "new hosts of pool cloud end after 900 s"
    (tmp_path / "c.toml").write_text(text.format(""))
    ran = await ctl(tmp_path, "config", "check", "c.toml", SUPERVISOR_STATE_DIR=here)
    ran.refused(2, short)
    assert '--timeout=10800"' in ran.err
    ran = await ctl(tmp_path, "doctor", "--config", "c.toml", "--json", SUPERVISOR_STATE_DIR=here)
    [found] = [each for each in ran.json["findings"] if each["name"] == "pools"]
    assert (ran.code, found["state"]) == (1, "problem")
    assert short in found["message"]

    (tmp_path / "c.toml").write_text(text.format('build_args = ["--timeout=7200"]'))
    assert (await ctl(tmp_path, "config", "check", "c.toml", SUPERVISOR_STATE_DIR=here)).code == 0


async def test_when_to_integrate_is_shown_under_its_key(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[profiles.night]\nintegrate_at = { share = 0.9, after = "2h" }\n')
    ran = await ctl(tmp_path, "config", "show", "c.toml", "--origin")
    assert "profiles.night.integrate_at.share = 0.9    # file c.toml" in ran.out.splitlines()
    assert "profiles.night.integrate_at.after = 7200.0    # file c.toml" in ran.out.splitlines()
    assert "profiles.default.integrate_at = {}    # default or inherited" in ran.out.splitlines()
