"""Our programs, started by a fork: what they import is imported once per test worker, not once per start.

`programs()` is a folder with an executable for each of our programs, to be put on PATH before the real ones (`REAL`).
Such an executable (`caller`) is a Python that imports next to nothing. It hands its arguments, environment, working
directory and standard streams to the zygote (`parent.py`), a process that has imported all that our programs import.
That process forks, and the fork becomes the program (`child.py`). The caller passes on the signals that it gets, and
ends as the program ends: with its exit status, or by the same signal. When the caller is killed, so is the program;
when the test worker ends, so do the zygote and all its programs.

Some starts are no fork, because the caller becomes the real program: with another character encoding, with a variable
that Python itself reads when it starts, with descriptors that systemd passes, or with a stream that is closed.
And some things are not there in a fork: the controlling terminal (the standard streams are that terminal, though),
the process group of the caller, its process id, SIGSTOP. A test that is about those starts the real program.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: the installed programs
REAL = Path(sys.executable).parent
NAMES = ("supervisord", "supervisorctl", "agent-supervisord", "agent-supervisorctl")
#: modules that are run as `python -m` runs them; what is called pytest on PATH stays the real one
MODULES = {"forked-pytest": "pytest", "box": "tests.daemon.box", "probe": "tests.zygote.probe"}


_started: list["Zygote"] = []


def programs() -> Path:
    """The folder of the executables. The first call in a test worker starts its zygote, which ends with the tests."""
    if not _started:
        _started.append(Zygote())
    return _started[0].programs


def end() -> None:
    while _started:
        _started.pop().end()


class Zygote:
    """One zygote, its socket, and the executables that call it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="zygote-"))
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        for name in NAMES:
            self._install(name, [str(REAL / name)])
        for name, module in MODULES.items():
            self._install(name, [sys.executable, "-m", module])
        ready, said = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.zygote.parent", str(self.socket), str(said), "-" * ARGUMENTS],
            env=_environment(),
            cwd=ROOT,
            stdin=subprocess.PIPE,  # nobody writes to it: it ends with this process, and the zygote with it
            pass_fds=[said],
        )
        os.close(said)
        with os.fdopen(ready, "rb") as file:
            assert file.read() == b"ready", "the zygote did not start"

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def pid(self) -> int:
        return self._process.pid

    def _install(self, name: str, real: list[str]) -> None:
        """The interpreter itself, not the environment's: that has to be looked for."""
        text = (HERE / "caller").read_text()
        head = f"#!{Path(sys.executable).resolve()} -ISE\nSOCKET, REAL = {str(self.socket)!r}, {real!r}\n"
        (self.programs / name).write_text(head + text)
        (self.programs / name).chmod(0o755)

    def end(self) -> None:
        """Also the programs that still run."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


#: bytes for the arguments, and for the environment, of a program, as others see them in /proc
ARGUMENTS, ENVIRONMENT = 500, 8_000


def _environment() -> dict[str, str]:
    """Nothing that a module could read when it is imported, and room for what is written over it."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "ROOM": "-" * ENVIRONMENT,
    }
