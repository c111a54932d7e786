"""The configuration: where values come from, what profiles inherit, and what is said of a mistake."""

from pathlib import Path

import pytest

from supervisor.errors import Misconfigured, NoSuchThing
from supervisor.kinds import KINDS
from supervisor.model.event import PoolSpec
from supervisor.settings import Settings, load, origins, pool_specs, resolve

CONFIG = Path(__file__).parent.parent / "config"


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text)
    return path


def loaded(folder: Path, text: str) -> Settings:
    return load(written(folder, text))


def test_the_defaults_run_four_agents_on_this_machine(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "")
    assert pool_specs(settings) == (PoolSpec("local", "local", 4),)
    profile = resolve(settings, "default")
    assert (profile.agent, profile.pools, profile.pytest) == ("claude", ("local",), ("python", "-m", "pytest"))
    assert profile.agent_args == ("--dangerously-skip-permissions",)
    assert settings.mngr_home == settings.state_dir / "home"


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, 'state_dir = "/file"\nsocket = "/file.sock"\n[mngr]\nwarm = false\nlist_seconds = 7\n')
    monkeypatch.setenv("SUPERVISOR_SOCKET", "/env.sock")
    monkeypatch.setenv("SUPERVISOR_STATE_DIR", "/env")
    monkeypatch.setenv("SUPERVISOR_MNGR__WARM", "true")
    monkeypatch.setenv("SUPERVISOR_PROFILES__NIGHT__SLOTS", "3")
    flags = {"state_dir": "/flag", "socket": None}
    settings = load(path, flags)
    assert (settings.state_dir, settings.socket) == (Path("/flag"), Path("/env.sock"))
    assert (settings.mngr.warm, settings.mngr.list_seconds) == (True, 7)
    assert resolve(settings, "night").slots == 3
    found = origins(path, flags)
    assert found["state_dir"] == "flag"
    assert found["socket"] == "environment"
    assert found["mngr.list_seconds"] == f"file {path}"


def test_a_profile_inherits_what_it_does_not_say(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        """
        [profiles.default]
        retries = 5
        env = { A = "1", B = "credential:token" }
        [profiles.night]
        inherits = "default"
        window = "22:00-06:00"
        timezone = "Europe/Berlin"
        env = { A = "2" }
        [profiles.late]
        inherits = "night"
        window = "23:00-05:00"
        """,
    )
    late = resolve(settings, "late")
    assert (late.name, late.retries, late.window, late.timezone) == ("late", 5, "23:00-05:00", "Europe/Berlin")
    assert late.env == {"A": "2", "B": "credential:token"}


def test_only_a_provider_that_makes_hosts_is_told_how_many_agents_fit_on_one(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        """
        [[pools]]
        name = "local"
        [[pools]]
        name = "modal"
        provider = "modal"
        slots = 100
        [[pools]]
        name = "box"
        provider = "pool"
        hosts = ["box1", "box2"]
        """,
    )
    assert [spec.agents_per_host for spec in pool_specs(settings)] == [0, 4, 0]


def test_pools_of_a_provider_have_one_rate(tmp_path: Path) -> None:
    """Said by any of them; Modal has a default, and 0 is none."""
    pools = """
        [[pools]]
        name = "small"
        provider = "{0}"
        {1}
        [[pools]]
        name = "big"
        provider = "{0}"
    """

    def rates(provider: str, said: str) -> list[float]:
        return [spec.launch_rate for spec in pool_specs(loaded(tmp_path, pools.format(provider, said)))]

    assert rates("modal", "") == [4, 4]
    assert rates("modal", "launch_rate = 40") == [40, 40]
    assert rates("modal", "launch_rate = 0") == [0, 0]
    assert rates("aws", "") == rates("local", "") == [0, 0]


MISTAKES = {
    "sloots = 1": ("sloots is not a key", "socket"),
    "stat_dir = '/x'": ("stat_dir is not a key", "did you mean `state_dir`?"),
    "[mngr]\nwram = true": ("mngr.wram is not a key", "did you mean `warm`?"),
    "[[pools]]\nname = 'a'\nslot = 1": ("pools.0.slot is not a key", "did you mean `slots`?"),
    "[profiles.a]\nretry = 1": ("profiles.a.retry is not a key", "did you mean `retries`?"),
    "[profiles.a]\nretries = 'x'": ("profiles.a.retries: input should be a valid integer", "config show"),
    "[profiles.a]\nwindow = '25:00-06:00'": ("'25:00-06:00' is not a window like 22:00-06:00", "config show"),
    "[profiles.a]\ntimezone = 'Mars'": ("'Mars' is not a time zone", "config show"),
    "[profiles.a]\npools = ['moon']": ("uses the pool moon", "the pools are: local"),
    "[profiles.a]\ninherits = 'b'\n[profiles.b]\ninherits = 'a'": (
        "inherits itself: a → b → a",
        "remove one `inherits`",
    ),
    "[profiles.a]\ninherits = 'defalt'": ("inherits defalt, which does not exist", "did you mean default?"),
    "[profiles.a]\nagent = 'command'": ("but no command", "argv"),
    "[profiles.a]\nenv = { SUPERVISOR_JOB = '1' }": ("is reserved: the agent contract sets it", "config show"),
    "[profiles.a]\nenv = { A = 'credential:../x' }": ("must name a credential file", "config show"),
    "[[pools]]\nname = 'a'\n[[pools]]\nname = 'a'": ("two pools are named a", "config show"),
    "[[pools]]\nname = 'a'\nlaunch_rate = 2\n[[pools]]\nname = 'b'\nlaunch_rate = 3": (
        "the launch_rate of provider local is 2 in pool a and 3 in pool b",
        "one for all pools of a provider",
    ),
    "[github]\ntoken = 'ghp_1234'": ("github.token: it must name a credential file", "config show"),
    "[github]\napi = 'x'": ("github.api is not a key", "did you mean `api_url`?"),
    "state_dir = 'relative'": ("relative is not an absolute path", "config show"),
    "state_dir = ": ("is not TOML", "correct it"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_the_file_is_one_sentence_with_a_hint(tmp_path: Path, text: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        loaded(tmp_path, text)
    said, hinted = MISTAKES[text]
    assert said in caught.value.message
    assert hinted in caught.value.hint
    assert "\n" not in caught.value.message


def test_a_variable_that_is_nearly_a_key_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERVISOR_STATEDIR", "/x")
    with pytest.raises(Misconfigured, match="SUPERVISOR_STATEDIR is not a setting"):
        loaded(tmp_path, "")


def test_a_list_in_the_environment_is_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERVISOR_POOLS", '[{"name": "a", "slots": 2}]')
    assert pool_specs(loaded(tmp_path, "")) == (PoolSpec("a", "local", 2),)
    monkeypatch.setenv("SUPERVISOR_POOLS", "[")
    with pytest.raises(Misconfigured, match="SUPERVISOR_POOLS is not JSON"):
        loaded(tmp_path, "")


def test_the_agent_contract_is_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BATCH", "JOB", "ATTEMPT", "ROLE", "TEST", "RUN", "PROMPT", "OUTCOME", "PUBLISH"):
        monkeypatch.setenv(f"SUPERVISOR_{name}", "x")
    loaded(tmp_path, "")


def test_a_file_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="there is no configuration file"):
        load(tmp_path / "missing.toml")


def test_a_profile_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(NoSuchThing, match="there is no profile overnigth") as caught:
        resolve(loaded(tmp_path, "[profiles.overnight]"), "overnigth")
    assert caught.value.hint == "did you mean overnight?"


@pytest.mark.parametrize("path", sorted(CONFIG.glob("*.toml")), ids=lambda path: path.name)
def test_every_example_can_be_used_as_it_is(path: Path) -> None:
    settings = load(path)
    for name in {"default", *settings.profiles}:
        resolve(settings, name)


def test_the_documented_defaults_are_the_defaults(tmp_path: Path) -> None:
    """default.toml has every key as a comment: taken out of the comments, nothing changes."""
    lines = (CONFIG / "default.toml").read_text().splitlines()
    settings = loaded(tmp_path, "\n".join(line.removeprefix("#: ") for line in lines))
    plain = loaded(tmp_path, "")
    assert resolve(settings, "default") == resolve(plain, "default")
    assert pool_specs(settings) == pool_specs(plain)
    assert settings.mngr == plain.mngr
    table = settings.profiles["default"]
    without = {
        "inherits",
        "setup_inputs",
        "branch_tests",
        "budget_tokens",
        "budget_dollars",
        "timezone",
    }  # what is not said is none of its values
    assert table.model_fields_set == set(type(table).model_fields) - without
    assert settings.github == plain.github
    assert settings.github.model_fields_set == set(type(settings.github).model_fields)
    assert settings.mngr.model_fields_set == set(type(settings.mngr).model_fields) - {"home", "tmux_tmpdir"}


@pytest.mark.parametrize(
    ("said", "share", "seconds"),
    [
        ('{ share = 0.9, after = "2h" }', 0.9, 7200),
        ("{ share = 0.5 }", 0.5, 0),
        ('{ after = "90 m" }', 0, 5400),
        ('{ after = "1.5d" }', 0, 129_600),
        ("{ after = 30 }", 0, 30),
        ("{}", 0, 0),
    ],
)
def test_a_profile_says_when_what_is_done_so_far_is_integrated(
    tmp_path: Path, said: str, share: float, seconds: float
) -> None:
    profile = resolve(loaded(tmp_path, f"[profiles.night]\nintegrate_at = {said}\n"), "night")
    assert (profile.integrate_share, profile.integrate_after_seconds) == (share, seconds)


@pytest.mark.parametrize("said", ['survey = "file"', 'survey = "none"', "verify_runs = 0"])
def test_siblings_are_held_only_where_a_survey_tells_of_them(tmp_path: Path, said: str) -> None:
    with pytest.raises(Misconfigured, match="only a survey tells which tests fail at the same place") as caught:
        loaded(tmp_path, f"[profiles.night]\nhold_siblings = true\n{said}\n")
    assert 'survey = "full"' in caught.value.hint
    assert resolve(loaded(tmp_path, "[profiles.night]\nhold_siblings = true\n"), "night").hold_siblings


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("{ share = 1 }", "less than 1"),
        ("{ share = 0 }", "greater than 0"),
        ('{ after = "soon" }', "'soon' is not a duration such as 90s, 30m, 2h or 1d"),
        ('{ after = "0h" }', "greater than 0"),
        ("{ shares = 0.9 }", "integrate_at.shares is not a key"),
    ],
)
def test_when_to_integrate_is_checked(tmp_path: Path, said: str, why: str) -> None:
    with pytest.raises(Misconfigured, match=why) as caught:
        loaded(tmp_path, f"[profiles.night]\nintegrate_at = {said}\n")
    assert caught.value.hint


def test_an_inherited_integrate_at_is_replaced_as_a_whole(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        '[profiles.default]\nintegrate_at = { share = 0.9, after = "2h" }\n'
        "[profiles.a]\ninherits = 'default'\n"
        "[profiles.b]\ninherits = 'default'\nintegrate_at = { share = 0.5 }\n",
    )
    assert resolve(settings, "a").integrate_after_seconds == 7200
    assert (resolve(settings, "b").integrate_share, resolve(settings, "b").integrate_after_seconds) == (0.5, 0)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_profile_has_the_arguments_of_its_own_kind(tmp_path: Path, name: str) -> None:
    """Those that it inherits are for another one."""
    said = '[profiles.default]\nagent_args = ["--of-claude"]\n'
    said += f'[profiles.other]\ninherits = "default"\nagent = "{name}"\ncommand = ["x"]\n'
    args = ("--of-claude",) if name == "claude" else KINDS[name].args
    assert resolve(loaded(tmp_path, said), "other").agent_args == args


def test_what_is_inherited_of_the_same_kind_stays(tmp_path: Path) -> None:
    said = '[profiles.base]\nagent = "codex"\nagent_args = ["--mine"]\n[profiles.between]\ninherits = "base"\n'
    said += '[profiles.last]\ninherits = "between"\nagent = "codex"\n'
    settings = loaded(tmp_path, said)
    assert [resolve(settings, name).agent_args for name in ("between", "last")] == [("--mine",)] * 2
