"""Notes which lines of a repository, which of its files and which of its programs a test uses, also in subprocesses.

It is loaded twice: by `sitecustomize`, at the start of every interpreter that inherits PYTHONPATH, and by pytest, as
a plugin. The repository is the folder in which the first interpreter starts. Notes are JSON lines in `seen`, beside
this file, each written when it happens: a process that is killed has said all it did.

A line is noted once for each process: `sys.monitoring` is told to forget it, so that it costs what it costs once.
Before 3.12 `sys.settrace` does it, for code of the repository only. (For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import os
import sys

# Modules that only some programs need are imported there: this one is loaded at the start of each.
from _writing_probe import HERE, Notes  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: whoever notes what files are opened sees that somebody looks for it
MARKER = os.path.join(HERE, "notes-for-itself")
#: what a folder within a repository is called that holds other people's code
FOREIGN = (".git", ".venv", "venv", "node_modules", "site-packages", "__pycache__")
#: modules that read code to rewrite it or to show it
_READERS = ("/linecache.py", "/inspect.py", "/tokenize.py", "/runpy.py", "/traceback.py")
#: code with local variables: the body of a function, not of a module or a class
FUNCTION = 0x1


def _root() -> str:
    """The first to ask decides."""
    file = os.path.join(HERE, "root")
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            return opened.read()
    except OSError:
        root = os.path.realpath(os.getcwd())
        with open(file, "w", encoding="utf-8", errors="surrogateescape") as opened:
            opened.write(root)
        return root


def say(what: str = "") -> None:
    os.access(MARKER + what, os.F_OK)


class Reaching:
    def __init__(self) -> None:
        self.root = _root()
        self.start = os.getcwd()
        self.notes = Notes()
        self.places: dict[str, str | None] = {}
        self.noted: set[Any] = set()
        #: pytest reads files, and imports what it collects: of this, only functions are noted, as no part of a test
        self.active, self.collects = True, False
        self.mark: tuple[str, ...] = ()  # what its notes of lines end with, if pytest itself executes them
        self.tool = -1
        self.notes.add("began")

    def place(self, path: str) -> str | None:
        """Relative to the repository; None: it is no part of it."""
        if path not in self.places:
            full = os.path.realpath(os.path.join(self.start, path))
            inside = full.startswith(self.root + os.sep) and not path.startswith("<")
            relative = full[len(self.root) + 1 :] if inside else ""
            foreign = set(relative.split(os.sep)[:-1]).intersection(FOREIGN)
            self.places[path] = relative if inside and not foreign else None
        return self.places[path]

    # --- lines

    def begin(self) -> None:
        sys.addaudithook(self.heard)
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            if sys.gettrace() is None:
                import threading

                threading.settrace(self.called)
                sys.settrace(self.called)
                self.tell()
            return
        # The reporter of results has the fourth; the others have names, and may be wanted by the tests.
        free = [number for number in (3, 5, 2) if monitoring.get_tool(number) is None]
        if not free:
            return
        self.tool = free[0]
        monitoring.use_tool_id(self.tool, "reaching")
        monitoring.register_callback(self.tool, monitoring.events.PY_START, self.entered)
        monitoring.register_callback(self.tool, monitoring.events.LINE, self.reached)
        monitoring.set_events(self.tool, monitoring.events.PY_START)
        self.tell()

    def tell(self) -> None:
        """That this process, and one that it becomes by a fork, notes which code it runs."""
        say()
        os.register_at_fork(after_in_child=lambda: say("-forked"))

    def again(self) -> None:
        """What was reached while nobody took notes may be reached again."""
        self.active = True
        if self.tool >= 0:
            sys.monitoring.restart_events()

    def entered(self, code: Any, offset: int) -> Any:
        monitoring = sys.monitoring
        if self.place(code.co_filename) is not None:
            events = monitoring.events.LINE | monitoring.events.CALL
            if not code.co_flags & FUNCTION and sys._getframe(1).f_globals.get("__name__") != "__main__":
                self.imports(code)
                events = monitoring.events.CALL
            monitoring.set_local_events(self.tool, code, events)
        return monitoring.DISABLE

    def imports(self, code: Any) -> None:
        """One note for all lines of a module or a class: it runs from its first line to its last."""
        place = self.place(code.co_filename)
        if self.active and (key := ("lines", place, code.co_firstlineno, code.co_qualname)) not in self.noted:
            self.noted.add(key)
            self.notes.add("lines", place, _spans({line for _, _, line in code.co_lines() if line}), *self.mark)

    def reached(self, code: Any, line: int) -> Any:
        if self.active or self.collects:
            is_main = not code.co_flags & FUNCTION and sys._getframe(1).f_globals.get("__name__") == "__main__"
            self.line(code, line, is_main)
        return sys.monitoring.DISABLE

    def line(self, code: Any, line: int, is_main: bool) -> None:
        kind = "body" if code.co_flags & FUNCTION or is_main else "import"
        kind = "collecting" if self.collects and kind == "body" else kind
        place = self.place(code.co_filename) if self.active or kind == "collecting" else None
        if place is not None and line:
            self.once("line", place, line, kind, *self.mark)

    def called(self, frame: Any, event: str, argument: Any) -> Any:
        return self.stepped if self.place(frame.f_code.co_filename) is not None else None

    def stepped(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line" and (self.active or self.collects):
            self.line(frame.f_code, frame.f_lineno, frame.f_globals.get("__name__") == "__main__")
        return self.stepped

    # --- files and programs

    def heard(self, event: str, arguments: Any) -> None:
        if event not in _HEARD or not self.active:
            return
        try:
            _HEARD[event](self, *arguments)
        except Exception:  # what a test does goes on, whatever it is that can't be noted
            return

    def opened(self, path: Any, mode: Any, flags: int) -> None:
        if isinstance(path, (str, bytes, os.PathLike)) and not flags & (os.O_WRONLY | os.O_RDWR):
            full = os.path.join(os.getcwd(), os.fsdecode(path))
            place = self.place(full)
            is_code = place is not None and place.endswith((".py", ".pyc"))
            if place is not None and not (is_code and self.is_for_an_import(sys._getframe(2))):
                self.once("source" if is_code else "open", place)

    def is_for_an_import(self, frame: Any) -> bool:
        """Code is read to be run or to be shown with a failure, and not by the repository itself."""
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith("<frozen importlib") or file.endswith(_READERS) or "/_pytest/" in file:
                return True
            if self.place(file) is not None:
                return False
            frame = frame.f_back
        return False

    def listed(self, path: Any = None) -> None:
        if not isinstance(path, int) and not self.is_for_an_import(sys._getframe(2)):
            place = self.place(os.path.join(os.fsdecode(path or "."), "x"))
            if place is not None:
                self.once("list", os.path.dirname(place))

    def imported(self, module: Any, *rest: Any) -> None:
        """Found or not: a file of this name may be made later."""
        self.once("import", str(module))

    def once(self, *what: Any) -> None:
        if what not in self.noted:
            self.noted.add(what)
            self.notes.add(*what)

    def popen(self, executable: Any, args: Any, cwd: Any, env: Any) -> None:
        if isinstance(env, dict):
            env["PYTHONPATH"] = _with_us(env.get("PYTHONPATH"))
        elif env is None:
            os.environ["PYTHONPATH"] = _with_us(os.environ.get("PYTHONPATH"))
        words = [os.fsdecode(each) for each in ([args] if isinstance(args, (str, bytes)) else args)]
        self.started(os.fsdecode(executable or words[0]), words[1:], cwd, (env or os.environ).get("PATH"))

    def execed(self, path: Any, args: Any, env: Any) -> None:
        words = [os.fsdecode(each) for each in args]
        self.started(os.fsdecode(path), words[1:], None, (env or os.environ).get("PATH"))

    def system(self, command: Any) -> None:
        self.started("sh", ["-c", os.fsdecode(command)], None, os.environ.get("PATH"))

    def started(self, program: str, args: list[str], cwd: Any, path: Any) -> None:
        """The program, and what it is given that may be one: a script, or the words of a shell's command."""
        import shlex
        import shutil

        from _programs_probe import expected  # type: ignore[import-not-found]

        words = [program, *args]
        if "-c" in args[:1] and len(args) > 1:
            try:
                words += shlex.split(args[1], comments=True)
            except ValueError:
                words += args[1].split()
        folder = os.path.join(os.getcwd(), os.fsdecode(cwd or ""))
        self.notes.add("start", expected(program, args, folder, path), os.path.basename(program))
        for word in words[:100]:
            found = os.path.join(folder, word)
            if not os.path.isfile(found) and word and os.sep not in word and not word.startswith("-"):
                found = shutil.which(word, path=path) or found
            # Not where a link leads: what lies in the repository is what is started.
            full = os.path.join(os.path.realpath(os.path.dirname(found)), os.path.basename(found))
            if full.startswith(self.root + os.sep) and os.path.isfile(full):
                how = "itself" if word == program else os.path.basename(program)
                self.notes.add("run", full[len(self.root) + 1 :], how)


def _spans(lines: set[int]) -> list[int]:
    """The first and the last of each run of consecutive lines."""
    firsts, lasts = (
        (each for each in lines if each - 1 not in lines),
        (each for each in lines if each + 1 not in lines),
    )
    return sorted([*firsts, *lasts])


def _with_us(path: Any) -> Any:
    if isinstance(path, bytes):
        return path
    parts = [each for each in (path or "").split(os.pathsep) if each]
    return os.pathsep.join(parts if HERE in parts else [HERE, *parts])


_HEARD: dict[str, Any] = {
    "open": Reaching.opened,
    "os.listdir": Reaching.listed,
    "os.scandir": Reaching.listed,
    "import": Reaching.imported,
    "subprocess.Popen": Reaching.popen,
    "os.exec": Reaching.execed,
    "os.posix_spawn": Reaching.execed,
    "os.system": Reaching.system,
}

REACHING = Reaching()
REACHING.begin()


def pytest_addoption(parser: Any) -> None:
    REACHING.collects, REACHING.mark = True, ("pytest",)  # called before a conftest is imported


def pytest_configure(config: Any) -> None:
    REACHING.active = False
    say("-collects")


def pytest_runtest_protocol(item: Any) -> None:
    say("-runs")
    REACHING.collects = False
    if not REACHING.active:
        REACHING.again()


def pytest_sessionfinish(session: Any) -> None:
    REACHING.active = False
