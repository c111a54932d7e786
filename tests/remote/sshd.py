"""Remote hosts on loopback: each box an unprivileged sshd, with keys, files and a tmux server of its own.

mngr keeps its state at the same path on every host of a provider. So each sshd runs in a mount namespace, where that
path holds the files of its own box; this also survives a restart of the sshd, because the files are the box's.
"""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.waiting import until_sync

PROVIDER = "pool"
#: root mounts as it is; anybody else in a user namespace
UNSHARE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"])]
#: a /run of its own, because root's sshd insists on a directory there
ENTER = 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && mount --bind "$1" "$2" && shift 2 && exec "$@"'


@dataclass
class Box:
    """One host. Its agents outlive its sshd, as they do when a network fails."""

    folder: Path
    host_dir: Path
    port: int
    _sshd: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def address(self) -> str:
        """As `mngr` wants it under `[providers.NAME.hosts.…]`."""
        user, keys = os.environ.get("USER", "root"), self.folder.parent / "keys"
        return (
            f'address = "127.0.0.1"\nport = {self.port}\nuser = "{user}"\n'
            f'key_file = "{keys / "user"}"\nknown_hosts_file = "{keys / "known_hosts"}"\n'
        )

    def start(self) -> None:
        keys, host = self.folder.parent / "keys", self.folder / "host"
        for made in (host, self.folder / "home", self.folder / "tmux"):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment = f"HOME={self.folder}/home TMUX_TMPDIR={self.folder}/tmux PATH={os.environ['PATH']}"
        options = {
            "ListenAddress": "127.0.0.1",
            "Port": str(self.port),
            "HostKey": str(keys / "host"),
            "AuthorizedKeysFile": str(keys / "user.pub"),
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "Subsystem": "sftp internal-sftp",
            "MaxStartups": "100",
            "SetEnv": environment,
        }
        config = self.folder / "sshd_config"
        config.write_text("".join(f"{key} {value}\n" for key, value in options.items()))
        sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        assert sshd is not None, "openssh-server is not installed"
        words = [
            *UNSHARE,
            "sh",
            "-c",
            ENTER,
            "sh",
            str(host),
            str(self.host_dir),
            sshd,
            "-D",
            "-e",
            "-f",
            str(config),
        ]
        with (self.folder / "sshd.log").open("ab") as log:
            self._sshd = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until_sync(f"{self.name} listens", self._is_listening)

    def stop(self) -> None:
        """Nobody gets in any more, and who is in is thrown out."""
        if self._sshd is None:
            return
        process = psutil.Process(self._sshd.pid)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                if each is process or each.name() == "sshd":
                    each.kill()
        self._sshd.wait()
        self._sshd = None

    def state_dirs(self) -> list[Path]:
        """Of the agents that mngr has here."""
        return sorted((self.folder / "host" / "agents").glob("agent-*"))

    def processes(self) -> list[psutil.Process]:
        """All that was started through this sshd: they have its tmux directory."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                is_ours = process.environ().get("TMUX_TMPDIR") == str(self.folder / "tmux")
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def clear(self) -> None:
        self.stop()
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        until_sync(f"every process of {self.name} is gone", lambda: not self.processes())

    def _is_listening(self) -> bool:
        assert self._sshd is not None
        assert self._sshd.poll() is None, (self.folder / "sshd.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as there:
            return there.recv(4) == b"SSH-"
        return False


@contextlib.contextmanager
def boxes(folder: Path, home: Path, *names: str) -> Iterator[list[Box]]:
    """Hosts that the mngr at `home` knows as those of the provider `pool`; at the end none of their processes is."""
    host_dir = folder / "mngr"
    host_dir.mkdir(parents=True)
    made = [Box(folder / name, host_dir, _free_port()) for name in names]
    _make_keys(folder / "keys", made)
    _tell_mngr(home, made)
    try:
        for box in made:
            box.start()
        yield made
    finally:
        for box in made:
            box.clear()


def _make_keys(keys: Path, made: list[Box]) -> None:
    keys.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
    public = (keys / "host.pub").read_text()
    (keys / "known_hosts").write_text("".join(f"[127.0.0.1]:{box.port} {public}" for box in made))


def _tell_mngr(home: Path, made: list[Box]) -> None:
    """As a person would, see docs/remote.md."""
    profile = home / ".mngr" / "profiles" / "default"
    profile.mkdir(parents=True)
    (home / ".mngr" / "config.toml").write_text('profile = "default"\n')
    hosts = "".join(f"\n[providers.{PROVIDER}.hosts.{box.name}]\n{box.address}" for box in made)
    head = f'[providers.{PROVIDER}]\nbackend = "ssh"\nhost_dir = "{made[0].host_dir}"\n'
    (profile / "settings.toml").write_text(head + hosts)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
