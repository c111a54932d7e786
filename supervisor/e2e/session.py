"""The `e2e` fixture's object: one test's private home, its commands, and their records."""

import dataclasses
import itertools
import re
import shlex
import sys
import textwrap
import threading
import uuid
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.e2e import connect, processes
from supervisor.e2e.budget import Budget
from supervisor.e2e.casts import CastFile, new_path
from supervisor.e2e.environment import COLUMNS, LINES, Home, environment
from supervisor.e2e.events import EventFile
from supervisor.e2e.launch import Launch
from supervisor.e2e.log import CommandLog, summary
from supervisor.e2e.ptys import Size
from supervisor.e2e.redact import Redactor, of_this_process
from supervisor.e2e.result import CommandResult
from supervisor.e2e.results import TestRecord
from supervisor.e2e.running import Listener, Running
from supervisor.e2e.spawned import Spawned
from supervisor.e2e.transcript import TranscriptFile

if TYPE_CHECKING:
    from supervisor.e2e.terminal import Terminal

CAST_VERSION = 3
TERMINAL_SIZE = Size(COLUMNS, LINES)
DEFAULT_TIMEOUT = 30.0
SHELL = ("bash", "-c")


class E2e:
    """Runs commands for one test. `env`, `cwd`, `shell` and `keep_background` may be changed by the test."""

    def __init__(self, record: TestRecord, budget: Budget, home: Home, pass_environment: Iterable[str] = ()) -> None:
        self.directory = record.directory
        self.home = home.home
        self.cwd = home.work
        self.env = environment(home, pass_environment) | {connect.DIRECTORY: str(self.directory)}
        self.shell: tuple[str, ...] = SHELL
        self.keep_background = False
        self._root = home
        self._record = record
        self._budget = budget
        self._token = uuid.uuid4().hex
        self._numbers = itertools.count(1)
        self._redactor: Redactor = of_this_process()
        record.redact = self._redactor.text
        self._transcript = TranscriptFile(self.directory / "transcript.txt", self._redactor)
        self._transcript_in_use = threading.Lock()
        self._events = EventFile(self.directory / "transcript.jsonl")
        self._spawned: list[Spawned] = []

    # --- commands ---------------------------------------------------------------------------------------------
    def run(
        self,
        command: str,
        *,
        comment: str = "",
        timeout: float = DEFAULT_TIMEOUT,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        stdin: str | bytes | None = None,
        tty: bool = False,
        keep_background: bool | None = None,
    ) -> CommandResult:
        """Run a shell command until it ends or times out; its processes end with it, unless kept."""
        launch = self._launch(command, comment, timeout, env, cwd)
        keep = self.keep_background if keep_background is None else keep_background
        launch = dataclasses.replace(launch, stdin=stdin, keep_background=keep)
        again = partial(
            self.run,
            command,
            comment=comment,
            timeout=timeout,
            env=env,
            cwd=cwd,
            stdin=stdin,
            tty=tty,
            keep_background=keep,
        )
        result = self._recorded(launch) if tty else self._run(launch)
        return dataclasses.replace(result, again=again)

    def _recorded(self, launch: Launch) -> CommandResult:
        launch, cast = self._cast(launch, TERMINAL_SIZE, CAST_VERSION)
        exit_code = 1
        try:
            result = self._run(launch, lambda _, text: cast.output(text))
            exit_code = result.exit_code
        finally:
            cast.close(exit_code)
        return result

    def _cast(self, launch: Launch, size: Size, version: int) -> tuple[Launch, CastFile]:
        words = re.findall(r"[A-Za-z0-9_.]+", launch.command)
        path = new_path(self.directory, "-".join(words[:4])[:40] or "terminal")
        cast = CastFile(path, size, launch.command, self._redactor, version)
        if launch.comment:
            cast.marker(launch.comment)
        # Programs would prefer these variables to the terminal's own size, and miss a resize.
        environment = {name: value for name, value in launch.environment.items() if name not in ("COLUMNS", "LINES")}
        return dataclasses.replace(launch, environment=environment, size=size, cast=path), cast

    def _run(self, launch: Launch, listener: Listener | None = None) -> CommandResult:
        if not self._transcript_in_use.acquire(blocking=False):
            return self._noted(Running(launch, self._log_apart(launch.command), listener).finish())
        try:
            log = CommandLog(next(self._numbers), self._transcript, self._events, self._redactor)
            return self._noted(Running(launch, log, listener).finish())
        finally:
            self._transcript_in_use.release()

    def spawn(
        self,
        command: str,
        *,
        comment: str = "",
        timeout: float = 600.0,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        keep_background: bool | None = None,
    ) -> Spawned:
        """Start a shell command in the background; it ends with the test at the latest.

        Its processes end with it, unless `keep_background`: then a daemon may end while its children stay.
        """
        keep = self.keep_background if keep_background is None else keep_background
        launch = self._launch(command, comment, timeout, env, cwd)
        launch = dataclasses.replace(launch, is_interactive=True, keep_background=keep)
        spawned = Spawned(launch, self._log_apart(command))
        self._spawned.append(spawned)
        return spawned

    def terminal(
        self,
        command: str,
        *,
        comment: str = "",
        timeout: float = 600.0,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        size: Size = TERMINAL_SIZE,
        cast_version: int = CAST_VERSION,
    ) -> "Terminal":
        """Start a program in a terminal of its own, recorded as asciicast; it ends with the test at the latest."""
        from supervisor.e2e.terminal import Terminal  # the only import that needs pyte

        launch, cast = self._cast(self._launch(command, comment, timeout, env, cwd), size, cast_version)
        terminal = Terminal(launch, self._log_apart(command), cast, size)
        self._spawned.append(terminal)
        return terminal

    @property
    def connect_command(self) -> str:
        """The value for mngr's setting of that name: records an agent's terminal instead of attaching to it."""
        return f"{shlex.quote(sys.executable)} -m supervisor.e2e.connect"

    def _launch(
        self,
        command: str,
        comment: str,
        timeout: float,
        env: Mapping[str, str] | None,
        cwd: Path | str | None,
    ) -> Launch:
        token = f"{self._token}.{uuid.uuid4().hex[:8]}"
        whole = {**self.env, **(env or {}), processes.TOKEN: token}
        self._redactor.learn_environment(whole)
        return Launch(
            command=textwrap.dedent(command).strip("\n") if "\n" in command else command,
            comment=comment,
            shell=self.shell,
            environment=whole,
            cwd=self.cwd / (cwd or ""),
            timeout=self._budget.allow(timeout),
            grace=self._budget.grace,
            token=token,
        )

    def _log_apart(self, command: str) -> CommandLog:
        """The log of a command that runs in parallel: its transcript is a separate file."""
        number = next(self._numbers)
        transcript = TranscriptFile(self.directory / f"transcript-{number:03}.txt", self._redactor)
        if self._transcript_in_use.acquire(blocking=False):
            self._transcript.note(f"in parallel, see {transcript.path.name}: {command}")
            self._transcript_in_use.release()
        return CommandLog(number, transcript, self._events, self._redactor, is_apart=True)

    def _noted(self, result: CommandResult) -> CommandResult:
        self._record.commands.append(summary(result, self._redactor))
        return result

    # --- the tutorial -----------------------------------------------------------------------------------------
    def write_tutorial_block(self, block: str) -> None:
        """Cite a block of the tutorial that this test proves, by its text. May be called repeatedly."""
        self._cite("block", textwrap.dedent(block).strip())

    def tutorial(self, block_id: str) -> None:
        """Cite a block by its id, as `supervisorctl tutorial blocks` prints it."""
        self._cite("id", block_id)

    def _cite(self, kind: str, text: str) -> None:
        self._record.citations.append({"kind": kind, "text": text})
        self._record.write()

    # --- the end ----------------------------------------------------------------------------------------------
    def close(self) -> None:
        """End everything that still runs, name it in the results, and remove the private directories."""
        for spawned in self._spawned:
            try:
                self._noted(spawned.stop(self._budget.grace))
            except Exception as error:  # one that can't be stopped must not prevent stopping the others
                self._record.notes.append(f"`{spawned.command}`: {error}")
        ended = processes.end(
            self._recorders, self._budget.grace
        )  # first, so that recordings do not show the others ending
        left = {pid: processes.name_of(pid) for pid in processes.with_token(self._token)}
        self._record.notes += [f"still running at the end: {each.command}" for each in left.values()]
        ended |= processes.end(lambda: processes.with_token(self._token), self._budget.grace)
        for pid in ended:
            processes.reap(pid)
        self._transcript.close()
        self._events.close()

    def _recorders(self) -> set[int]:
        marked = processes.with_token(self._token)
        return {pid for pid in marked if processes.environment_value(pid, processes.KEEP) is not None}
