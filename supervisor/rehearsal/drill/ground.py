"""Where a drill takes place: a temporary directory with a state, a socket, a home and a daemon of its own.

Nothing of the user's is written to: not their daemon, tmux server, git configuration or home. mngr's settings are
copied, so that hosts are reached as they will be; what else the daemon's home has (keys, logins) is linked.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

from supervisor.adapters.private_tmux import PrivateTmux
from supervisor.control.client import Client
from supervisor.errors import Refused, SupervisorError
from supervisor.rehearsal import GIT_ENVIRONMENT
from supervisor.rehearsal.drill import configuration, repository
from supervisor.rehearsal.drill.leftovers import destroy
from supervisor.rehearsal.drill.processes import end_all_of
from supervisor.settings import Settings, load

START_SECONDS, STOP_SECONDS = 60.0, 20.0
LOOK_SECONDS = 0.1
#: not of a home's: agents and caches are made anew, and logins of models are not needed
_OWN = {".mngr", ".cache", ".claude", ".claude.json", ".codex", ".local"}


class Ground:
    """Everything that `clear` takes away again."""

    def __init__(self, judged: Settings, path: str, supervisord: Path) -> None:
        # Not under TMPDIR: the path of a socket must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="sv-drill-", dir="/tmp"))
        self.repo, self._config = self.folder / "repo", self.folder / "config.toml"
        self._path, self._supervisord = path, supervisord
        self._name, self._count = f"d{secrets.token_hex(4)}", 0
        self._daemon: subprocess.Popen[bytes] | None = None
        self._judged = judged
        self.client = Client(self.folder / "ctl.sock")

    def prepare(self) -> None:
        home = self.folder / "home"
        home.mkdir(mode=0o700)
        _furnish(home, self._judged.mngr_home)
        repository.lay_out(self.repo)
        self._config.write_text(configuration.written(self._judged, self.folder), encoding="utf-8")
        self._config.chmod(0o600)

    @property
    def settings(self) -> Settings:
        return load(self._config)

    @property
    def daemon(self) -> int:
        assert self._daemon is not None
        return self._daemon.pid

    @property
    def batches(self) -> set[str]:
        """The ids of all batches of this drill."""
        return {f"{self._name}{number}" for number in range(1, self._count + 1)}

    def start(self) -> None:
        """Until the daemon answers. Raises Refused with its last words when it does not."""
        command = [str(self._supervisord), "--config", str(self._config), "--log-format", "json"]
        with self._log.open("ab") as log:
            self._daemon = _begun(command, self._environment(), log)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._daemon.poll() is not None or time.monotonic() > deadline:
                raise Refused("the daemon did not start", hint=self._last_words())
            time.sleep(LOOK_SECONDS)

    def kill(self) -> None:
        """With SIGKILL: it has no time for anything."""
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()

    def stop(self) -> None:
        if self._daemon is None:
            return
        self._daemon.terminate()
        try:
            self._daemon.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def submit(self, pool: str, part: str) -> str:
        self._count += 1
        profile = configuration.profile_of(pool, part)
        known = self.client.get("/v1/checkout", repo=str(self.repo), profile=profile)
        asked = {"repo": known["repo"], "base": known["base"], "profile": profile, "tests": [repository.TEST]}
        answer = self.client.post("/v1/submit", asked | {"batch": f"{self._name}{self._count}"})
        return str(answer["batch"])

    def clear(self) -> list[str]:
        """Nothing of it is left: no agent, process, tmux server or file. What could not be done, as sentences."""
        try:
            self.stop()
            problems = self._end_agents() if self._count else []
            PrivateTmux.below(self.folder / "state" / "tmux").end()
            end_all_of(self.folder)
            return problems
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _end_agents(self) -> list[str]:
        """mngr may have those of other hosts, and a daemon that was interrupted has put none away."""
        return destroy(self.settings, self.batches, {pool.provider for pool in self._judged.pools})

    @property
    def _log(self) -> Path:
        return self.folder / "daemon.log"

    def _answers(self) -> bool:
        try:
            self.client.get("/v1/health")
        except SupervisorError:
            return False
        return True

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return f"its log ends so: {lines[-1][:500]}" if lines else "it wrote no log"

    def _environment(self) -> dict[str, str]:
        """What is configured for a daemon of the user's, or for their git, is nothing to this one."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("SUPERVISOR_", "GIT_", "XDG_"))
        }
        return kept | GIT_ENVIRONMENT | {"PATH": self._path, "HOME": str(self.folder / "home")}


def _begun(command: list[str], environment: dict[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C is for the drill, which ends its daemon when agents are put away."""
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )


def _furnish(home: Path, judged: Path) -> None:
    try:
        entries = list(judged.iterdir()) if judged.exists() else []
        for entry in entries:
            if entry.name not in _OWN:
                (home / entry.name).symlink_to(entry)
        if (judged / ".mngr").exists():
            _copy_settings(judged / ".mngr", home / ".mngr")
    except PermissionError as error:
        hint = "run the drill as the daemon's user, such as by `sudo -u USER supervisorctl doctor --drill`"
        raise Refused(f"can't read mngr's settings: {error}", hint=hint) from None


def _copy_settings(source: Path, target: Path) -> None:
    """The profile with its providers, and no agent."""
    target.mkdir(mode=0o700)
    if (source / "config.toml").exists():
        shutil.copy2(source / "config.toml", target / "config.toml")
    if (source / "profiles").is_dir():
        shutil.copytree(source / "profiles", target / "profiles", ignore_dangling_symlinks=True)
