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


async def test_what_is_read_and_not_acted_on_is_said(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[profiles.night]\nselect = "failed"\n')
    ran = await ctl(tmp_path, "config", "check", "c.toml", "--json")
    assert (ran.code, len(ran.json["warnings"])) == (0, 1)


async def test_when_to_integrate_is_shown_under_its_key(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[profiles.night]\nintegrate_at = { share = 0.9, after = "2h" }\n')
    ran = await ctl(tmp_path, "config", "show", "c.toml", "--origin")
    assert "profiles.night.integrate_at.share = 0.9    # file c.toml" in ran.out.splitlines()
    assert "profiles.night.integrate_at.after = 7200.0    # file c.toml" in ran.out.splitlines()
    assert "profiles.default.integrate_at = {}    # default or inherited" in ran.out.splitlines()
