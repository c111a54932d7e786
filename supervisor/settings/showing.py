"""The daemon's configuration as it is shown: everything except values that may be secrets."""

from typing import Any

from supervisor.e2e.secrets import SECRET_NAME
from supervisor.settings.tables import Settings

HIDDEN = "(hidden)"
#: those of chat services are secrets themselves
HIDDEN_URL = "https://(hidden)"


def shown(settings: Settings) -> dict[str, Any]:
    """A table that gives the same settings when another process loads it.

    It includes values that depend on the daemon's environment, and omits a profile's unset keys, which are
    inherited."""
    data = settings.model_dump(mode="json", exclude_unset=True)
    data |= settings.model_dump(mode="json", include={"state_dir", "socket", "pools", "verify_slots"})
    own = {"home": str(settings.mngr_home), "tmux_tmpdir": str(settings.tmux_tmpdir)}
    data["mngr"] = data.get("mngr", {}) | own
    for account in data.get("accounts", {}).values():
        account["env"] = {name: _shown(name, value) for name, value in account.get("env", {}).items()}
    for profile in data.get("profiles", {}).values():
        for key in profile.keys() & {"env", "integrator_env"}:
            profile[key] = {name: _shown(name, value) for name, value in profile[key].items()}
    for hook in data.get("webhooks", ()):
        hook["url"] = hook["url"] if hook["url"].startswith(("credential:", "env:")) else HIDDEN_URL
    return data


def _shown(name: str, value: str) -> str:
    is_secret = SECRET_NAME.search(name) and not value.startswith(("credential:", "/"))
    return HIDDEN if is_secret else value
