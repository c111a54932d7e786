"""Our programs, started by a fork: what they import is imported once per test worker, not once per start.

`programs()` is a folder with an executable for each of our programs, to be put on PATH before the real ones (`REAL`).
Such an executable (`caller`) is a Python that imports next to nothing. It hands its arguments, environment, working
directory and standard streams to the zygote (`parent.py`), a process that has imported all that our programs import.
That process forks, and the fork becomes the program (`child.py`). The caller passes on the signals that it gets, and
ends as the program ends: with its exit status, or by the same signal. When the caller is killed, so is the program;
when the test worker ends, so do the zygote and all its programs.

`mngr()` is the real mngr in the same way, from a zygote under mngr's own interpreter: its fork server, which the
daemon starts, and plain calls.

Some starts are no fork, because the caller becomes the real program: with another character encoding, with a variable
that Python itself reads when it starts, with descriptors that systemd passes, or with a stream that is closed. And
some things are not there in a fork: the controlling terminal (the standard streams are that terminal, though), the
process group of the caller, its process id, SIGSTOP. A test that is about those starts the real program.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.leaks import LEAKS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: the installed programs
REAL = Path(sys.executable).parent
REAL_MNGR = ROOT / ".venv-mngr" / "bin" / "mngr"
NAMES = ("supervisord", "supervisorctl", "supervisor-gate", "agent-supervisord", "agent-supervisorctl")
#: modules that are run as `python -m` runs them; what is called pytest on PATH stays the real one
MODULES = {"forked-pytest": "pytest", "box": "tests.daemon.box", "probe": "tests.zygote.probe"}
#: what our programs import sooner or later
IMPORTS = ("supervisor.serving", "supervisor.settings", "supervisor.cli.*", "_pytest.*", "tests.waiting", "zoneinfo")
#: bytes for the arguments, and for the environment, of a program, as others see them in /proc
ARGUMENTS, ENVIRONMENT = 500, 8_000

_started: dict[str, "Zygote"] = {}


def programs() -> Path:
    """The folder of the executables. The first call in a test worker starts its zygote, which ends with the tests."""
    if "ours" not in _started:
        zygote = _begun("ours", sys.executable, *IMPORTS)
        for name in NAMES:
            zygote.install(name, str(REAL / name))
        for name, module in MODULES.items():
            zygote.install(name, "-m", module)
    return _started["ours"].programs


def mngr() -> Path:
    """The command. Its first line names a caller as its interpreter."""
    if "mngr" not in _started:
        zygote = _begun("mngr", str(REAL_MNGR.with_name("python")), "imbue.mngr.main")
        python = zygote.install("../python3")  # on nobody's PATH
        _, _, script = REAL_MNGR.read_text().partition("\n")
        (zygote.programs / "mngr").write_text(f"#!{python}\n{script}")
        (zygote.programs / "mngr").chmod(0o755)
    return _started["mngr"].programs / "mngr"


def _begun(name: str, python: str, *imports: str) -> "Zygote":
    with LEAKS.of_the_session():
        zygote = _started[name] = Zygote(python, *imports)
    return zygote


def end() -> None:
    while _started:
        _started.popitem()[1].end()


class Zygote:
    """One zygote, its socket, and the executables that call it."""

    def __init__(self, python: str, *imports: str) -> None:
        self._python = python
        self.folder = Path(tempfile.mkdtemp(prefix="zygote-"))
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        ready, said = os.pipe()
        words = [str(self.socket), str(said), ",".join(imports), "-" * ARGUMENTS]
        self._process = subprocess.Popen(
            [python, "-m", "tests.zygote.parent", *words],
            env=self._environment(),
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

    def _environment(self) -> dict[str, str]:
        """Nothing that a module could read when it is imported, and room for what is written over it."""
        path = os.environ.get("PATH", os.defpath)
        fixed = {"HOME": str(self.folder), "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
        return {"PATH": path, **fixed, "ROOM": "-" * ENVIRONMENT}

    def install(self, name: str, *words: str) -> Path:
        """An executable that stands for Python with these words; its own starts without an environment's packages."""
        command = [self._python, *words]
        head = f"#!{Path(sys.executable).resolve()} -ISE\nSOCKET, REAL = {str(self.socket)!r}, {command!r}\n"
        path = (self.programs / name).resolve()
        path.write_text(head + (HERE / "caller").read_text())
        path.chmod(0o755)
        return path

    def end(self) -> None:
        """Also the programs that still run."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
