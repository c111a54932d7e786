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
    (tmp_path / "c.toml").write_text("[profiles.night]\nbudget_tokens = 5\n")
    ran = await ctl(tmp_path, "config", "check", "c.toml", "--json")
    assert (ran.code, len(ran.json["warnings"])) == (0, 1)
