"""What a fork of the zygote does to be the program that it was asked for."""

import atexit
import builtins
import ctypes
import os
import resource
import runpy
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_MM = 1, 15, 35
PR_SET_MM_ARG_END, PR_SET_MM_ENV_END = 9, 11
#: of Python, when what it has printed can't be written
CANT_FLUSH = 120

#: this module is imported before anything is forked
ZYGOTE = os.getpid()

_libc = ctypes.CDLL(None)


def become(asked: dict[str, Any], descriptors: Sequence[int]) -> None:
    """All that a program gets from who starts it. `descriptors`: the standard streams, and the working directory."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != ZYGOTE:  # it ended before that was said
        os._exit(1)
    os.setsid()
    _take(descriptors)
    os.umask(asked["umask"])
    _take_limits(asked["caller"])
    _take_signals(asked["ignored"])
    _take_environment(asked["environment"])
    _open_streams()
    _be_seen_as(asked["argv"], asked["environment"])
    tempfile.tempdir = None


def _take(descriptors: Sequence[int]) -> None:
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    os.fchdir(descriptors[3])
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _take_limits(caller: int) -> None:
    for number in {getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}:
        resource.setrlimit(number, resource.prlimit(caller, number))


def _take_signals(ignored: Sequence[int]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def _take_environment(environment: dict[bytes, bytes]) -> None:
    os.environb.clear()
    os.environb.update(environment)
    time.tzset()
    sys.dont_write_bytecode = bool(environment.get(b"PYTHONDONTWRITEBYTECODE"))


def _open_streams() -> None:
    """As Python does when it starts."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        stream = open(  # noqa: SIM115 (it stays open)
            number,
            "w" if number else "r",
            encoding=before.encoding,
            errors=before.errors,
            newline="\n",
            closefd=False,
        )
        stream.reconfigure(line_buffering=name == "stderr" or stream.isatty())
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _be_seen_as(argv: Sequence[str], environment: dict[bytes, bytes]) -> None:
    """In /proc, where the tests look for their processes: the words and the environment are written over ours."""
    words = b"".join(os.fsencode(word) + b"\0" for word in argv)
    values = b"".join(b"%s=%s\0" % item for item in environment.items())
    places = [int(field) for field in Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[45:49]]
    _write(words, places[0], places[1], PR_SET_MM_ARG_END)
    _write(values, places[2], places[3], PR_SET_MM_ENV_END)
    script = next((word for word in argv[1:] if not word.startswith("-")), "")
    _libc.prctl(PR_SET_NAME, Path(argv[0] if argv[1] == "-m" else script).name.encode())


def _write(data: bytes, start: int, end: int, which: int) -> None:
    data = data[: end - start]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, data, len(data))
    _libc.prctl(PR_SET_MM, which, ctypes.c_ulong(start + len(data)), 0, 0)  # where it is allowed; else zeros follow


def run(argv: Sequence[str]) -> NoReturn:
    """`python [-P] SCRIPT` or `python -m MODULE`; what Python does at its end, but for tidying up the memory."""
    code = 0
    try:
        if argv[1] == "-m":
            sys.argv, sys.path[0] = list(argv[2:]), str(Path.cwd())
            runpy.run_module(argv[2], run_name="__main__", alter_sys=True)
        elif argv[1] == "-P":
            del sys.path[0]
            _run_script(argv[2:])
        else:
            sys.path[0] = str(Path(argv[1]).parent)
            _run_script(argv[1:])
    except SystemExit as end:
        code = _code(end)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(_flushed(code & 0xFF))


def _run_script(argv: Sequence[str]) -> None:
    sys.argv = list(argv)
    main = ModuleType("__main__")
    main.__file__ = argv[0]
    main.__builtins__ = builtins  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    exec(compile(Path(argv[0]).read_bytes(), argv[0], "exec"), main.__dict__)


def _code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def _flushed(code: int) -> int:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = CANT_FLUSH if code == 0 and stream is sys.stdout and not stream.closed else code
    return code
