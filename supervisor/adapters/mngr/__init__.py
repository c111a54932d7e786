"""The `Agents` port on the real `mngr` command."""

from supervisor.adapters.mngr.device import MngrAgents
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.ports import Agents
from supervisor.threads import in_thread

__all__ = ["MngrAgents", "MngrSettings", "open_agents"]


async def open_agents(settings: MngrSettings) -> Agents:
    """Return the device; missing directories are created. Close it with `close()`."""
    for directory in (settings.home, settings.tmux_tmpdir, settings.cwd):
        await in_thread(directory.mkdir, mode=0o700, parents=True, exist_ok=True)
    return MngrAgents(settings)
