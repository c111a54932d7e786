"""How long a provider's hosts live, and whether that is enough for the agents of a profile."""

from pathlib import Path

import pytest

from supervisor.adapters.mngr.lifetimes import lifetimes, too_short
from supervisor.settings import Settings, load, pool_specs

CLOUD = '[[pools]]\nname = "cloud"\nprovider = "{provider}"\nbuild_args = {args}\n[profiles.far]\npools = ["cloud"]\n'
#: what the default profile needs: launch, an hour, three runs of its test, leaving
NEEDED = 600 + 3600 + 3 * 120 + 300


def configured(folder: Path, provider: str = "modal", args: str = "[]", mngr: str | None = None) -> Settings:
    """With these settings of mngr, or with a mngr that was never used."""
    config, home = folder / "config.toml", folder / "home"
    config.write_text(CLOUD.format(provider=provider, args=args))
    if mngr is not None:
        profile = home / ".mngr" / "profiles" / "default"
        profile.mkdir(parents=True)
        (home / ".mngr" / "config.toml").write_text('profile = "default"\n')
        (profile / "settings.toml").write_text(mngr)
    return load(config, {"mngr": {"home": str(home)}, "state_dir": str(folder / "state")})


@pytest.mark.parametrize(
    ("provider", "args", "mngr", "seconds"),
    [
        pytest.param("modal", "[]", None, 900, id="mngr's default"),
        pytest.param("modal", "[]", "[providers.modal]\ndefault_sandbox_timeout = 7200", 7200, id="mngr's settings"),
        pytest.param("modal", '["--timeout=9000", "--cpu=2"]', None, 9000, id="a build argument"),
        pytest.param("modal", '["timeout=9000"]', None, 9000, id="without dashes"),
        pytest.param("modal", '["--timeout", "9000"]', None, 9000, id="in two words"),
        pytest.param(
            "modal", '["--timeout=9000"]', "[providers.modal]\ndefault_sandbox_timeout = 1", 9000, id="argument first"
        ),
        pytest.param("big", "[]", '[providers.big]\nbackend = "modal"', 900, id="a name of its own"),
        pytest.param("aws", "[]", None, None, id="aws ends nothing"),
        pytest.param("aws", "[]", "[providers.aws]\nauto_shutdown_seconds = 600", 600, id="aws with a cap"),
        pytest.param("docker", "[]", None, None, id="docker ends nothing"),
        pytest.param("unheard", '["--timeout=1"]', None, None, id="nothing is known"),
        pytest.param("modal", "[]", "[providers", None, id="mngr's settings are damaged"),
        pytest.param("modal", '["--timeout=soon"]', None, None, id="mngr will say that it is no number"),
    ],
)
def test_what_is_known_of_a_hosts_life(
    tmp_path: Path, provider: str, args: str, mngr: str | None, seconds: float | None
) -> None:
    settings = configured(tmp_path, provider, args, mngr)
    assert lifetimes(settings).get("cloud") == seconds
    assert pool_specs(settings, lifetimes(settings))[0].host_seconds == (seconds or 0)


def test_a_provider_that_would_end_an_agent_early_is_refused_with_the_remedy(tmp_path: Path) -> None:
    [found] = too_short(configured(tmp_path))
    assert found.message == (
        f"profile far gives an agent 3600 s; with its launch, its tests and its leaving it may need its host for "
        f"{NEEDED} s, but new hosts of pool cloud end after 900 s"
    )
    assert found.hint == (
        'set `build_args = ["--timeout=10800"]` for the pool, '
        "or `default_sandbox_timeout = 10800` under [providers.modal] of mngr's settings"
    )


def test_where_no_argument_says_it_the_remedy_is_in_mngrs_settings(tmp_path: Path) -> None:
    [found] = too_short(configured(tmp_path, "aws", mngr="[providers.aws]\nauto_shutdown_seconds = 600"))
    assert found.hint == "set `auto_shutdown_seconds = 10800` under [providers.aws] of mngr's settings"


@pytest.mark.parametrize("args", [f'["--timeout={NEEDED}"]', '["--timeout=14400", "--cpu=2", "--memory=4"]'])
def test_enough_is_enough(tmp_path: Path, args: str) -> None:
    assert not list(too_short(configured(tmp_path, args=args)))


def test_existing_hosts_have_no_end(tmp_path: Path) -> None:
    settings = configured(tmp_path).model_dump()
    settings["pools"][0]["hosts"] = ["box1"]
    assert not list(too_short(Settings.model_validate(settings)))


def test_our_own_configuration_for_modal_is_enough(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[3] / "config" / "modal.toml"
    settings = load(shipped, {"mngr": {"home": str(tmp_path)}})
    assert lifetimes(settings)["modal"] > NEEDED
    assert not list(too_short(settings))
