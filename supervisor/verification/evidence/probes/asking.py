"""Notes who asks what tells a trial from a person's run: callers, processes, the network, the tests themselves.

It is loaded as the probe is that notes what is reached, also in subprocesses. Python tells of each such question
(audit events, and from 3.12 on what is called), however it is put. Who asks is the nearest code of the repository, if
nothing but Python's own library stands between. (For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from _reaching_probe import REACHING  # type: ignore[import-not-found]
from _writing_probe import as_json  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.dirname(os.__file__) + os.sep
#: modules of the library that ask for somebody else; others, such as `logging`, ask for themselves
ON_BEHALF = ("inspect.py", "traceback.py")
#: what lies there is told of processes and machines
PLACES = ("/proc", "/sys")
CHANGED = "to change it"
FRAMES = {
    "sys._getframe": "_getframe (who calls it)",
    "sys._current_frames": "_current_frames (who calls it)",
    "gc.get_objects": "get_objects (what else is in memory)",
    "gc.get_referrers": "get_referrers (what else is in memory)",
    "gc.get_referents": "get_referents (what else is in memory)",
}
MOST_FRAMES = 25
#: functions of these modules that tell of the process and its machine, without an event of their own
TELLING = {
    "posix": ("getppid", "getsid", "getpgid", "getpgrp", "getloadavg", "uname"),
    "_socket": ("gethostname", "if_nameindex"),
    "threading": ("enumerate", "active_count"),
    "_signal": ("getsignal",),
}
#: whether a file is there; walls show none that nothing needs
LOOKING = (
    *(os.stat, os.lstat, os.access, os.listdir, os.scandir, os.path.exists, os.path.lexists, os.path.isfile),
    *(os.path.isdir, os.path.islink, os.path.ismount),
)
#: these of pathlib, too
PATH_LOOKING = ("exists", "is_file", "is_dir")
NEAR = [
    os.path.realpath(each)
    for each in (
        REACHING.root,
        os.path.expanduser("~"),
        os.environ.get("TMPDIR"),
        sys.prefix,
        sys.base_prefix,
        "/tmp",
    )
    if each
]


class Asking:
    def __init__(self) -> None:
        self.noted: set[Any] = set()
        self.is_busy = False

    def heard(self, event: str, arguments: Any) -> None:
        if self.is_busy or event not in _EVENTS:
            return
        self.is_busy = True
        try:
            if what := _EVENTS[event](event, *arguments):
                self.note(what, is_direct=event in FRAMES or event == "object.__getattr__")
        except Exception:  # what a program does goes on
            return
        finally:
            self.is_busy = False

    def called(self, code: Any, offset: int, function: Any, given: Any) -> Any:
        """A place in the code of the repository that calls something."""
        looks = any(function is each for each in LOOKING) or _is_of_path(function)
        try:
            what = _of_call(function, given, looks=looks)
            place = REACHING.place(code.co_filename) if what else None
            if place is not None:
                line = next((line for start, end, line in code.co_lines() if start <= offset < end), 0)
                self.write(what, place, line or 0)
        except Exception:  # what a program does goes on
            return None
        return None if looks else sys.monitoring.DISABLE

    def note(self, what: str, *, is_direct: bool) -> None:
        frame: Any = sys._getframe(2)
        for _ in range(MOST_FRAMES):
            if frame is None:
                return
            file = frame.f_code.co_filename
            place = None if file.startswith("<") else REACHING.place(file)
            if place is not None:
                self.write(what, place, frame.f_lineno)
                return
            is_between = file.startswith(("<frozen", LIBRARY)) and "site-packages" not in file
            if not is_between or (is_direct and not file.endswith(ON_BEHALF)):
                return
            frame = frame.f_back

    def write(self, what: str, place: str, line: int) -> None:
        if (what, place, line) not in self.noted:
            self.noted.add((what, place, line))
            file = os.path.join(HERE, "asked")
            with suppress(OSError), open(file, "a", encoding="utf-8", errors="surrogateescape") as opened:
                opened.write(as_json([what, place, line, False]) + "\n")


def _is_of_path(function: Any) -> bool:
    name = getattr(function, "__name__", "")
    return name in PATH_LOOKING and getattr(function, "__module__", "") in ("pathlib", "pathlib._local")


def _of_frames(event: str, *rest: Any) -> str:
    return FRAMES[event]


def _of_attribute(event: str, owner: Any, name: Any) -> str:
    return "tb_frame (who calls it)" if name == "tb_frame" else ""


def _of_call(function: Any, given: Any, *, looks: bool) -> str:
    if not looks:
        name = getattr(function, "__name__", "")
        known = TELLING.get(getattr(function, "__module__", None) or "", ())
        return f"{name} (where it runs)" if name in known else ""
    if not isinstance(given, (str, bytes, os.PathLike)) or not os.path.isabs(text := os.fsdecode(given)):
        return ""
    full = os.path.realpath(text)
    return "" if any(full == each or full.startswith(each + os.sep) for each in NEAR) else text


def _of_file(event: str, path: Any = None, *rest: Any) -> str:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return ""
    text = os.path.abspath(os.fsdecode(path))
    if any(text == each or text.startswith(each + os.sep) for each in PLACES):
        return text
    if text.startswith(os.path.join(REACHING.root, ".git") + os.sep):
        return text[len(REACHING.root) + 1 :]
    own = REACHING.place(text) or ""
    name = os.path.basename(own)
    if len(rest) > 1 and rest[1] & (os.O_WRONLY | os.O_RDWR):
        return f"{own} {CHANGED}" if own and os.path.exists(text) else ""
    return own if name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")) else ""


def _of_address(event: str, first: Any, second: Any = None, *rest: Any) -> str:
    host = second[0] if event == "socket.connect" and isinstance(second, tuple) else first
    if event == "socket.connect" and not isinstance(second, tuple):
        return ""
    text = os.fsdecode(host) if isinstance(host, (str, bytes)) else ""
    is_near = not text or text in ("localhost", "::1", "::", "0.0.0.0") or text.startswith("127.")
    return "" if is_near else f"{text} in the network"


_EVENTS: dict[str, Any] = {
    **dict.fromkeys(FRAMES, _of_frames),
    "object.__getattr__": _of_attribute,
    "open": _of_file,
    "os.listdir": _of_file,
    "os.scandir": _of_file,
    "socket.connect": _of_address,
    "socket.getaddrinfo": _of_address,
}

ASKING = Asking()
sys.addaudithook(ASKING.heard)
if REACHING.tool >= 0:
    sys.monitoring.register_callback(REACHING.tool, sys.monitoring.events.CALL, ASKING.called)
