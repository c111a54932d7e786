"""`supervisorctl top` in a real tmux of our own, at any size."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.private_tmux import PrivateTmux
from tests.cli.running import BIN, environment
from tests.waiting import until

#: an app that starts on a busy machine takes seconds
PATIENCE_SECONDS = 30.0


@dataclass
class Screen:
    tmux: PrivateTmux
    text: str = ""

    async def look(self) -> str:
        ran = await asyncio.to_thread(self.tmux.run, "capture-pane", "-p", "-t", "top")
        self.text = ran.stdout
        return self.text

    async def shows(self, *words: str) -> str:
        """Wait until all of these are on the screen, whatever line they are broken into."""

        async def are_there() -> bool:
            seen = " ".join((await self.look()).split())
            return all(word in seen for word in words)

        return await self._awaited(f"{words} on the screen", are_there)

    async def hides(self, word: str) -> str:
        async def is_gone() -> bool:
            return word not in await self.look()

        return await self._awaited(f"no {word} on the screen", is_gone)

    async def _awaited(self, described: str, condition: Callable[[], Awaitable[bool]]) -> str:
        try:
            await until(described, condition, PATIENCE_SECONDS)
        except AssertionError as never:
            raise AssertionError(f"{never}\n{self.text}") from None
        return self.text

    async def press(self, *keys: str) -> None:
        await asyncio.to_thread(self.tmux.run, "send-keys", "-t", "top", *keys)

    async def has_ended(self) -> bool:
        return (await asyncio.to_thread(self.tmux.run, "has-session", "-t", "top")).returncode != 0


@asynccontextmanager
async def top(home: Path, socket: Path, *words: str, columns: int = 80, lines: int = 24) -> AsyncIterator[Screen]:
    tmux = PrivateTmux.below(home / "tmux")
    told = environment(home, SUPERVISOR_SOCKET=str(socket), TERM="tmux-256color")
    told.pop("COLUMNS")
    command = shlex.join(
        ["env", "-i", *(f"{k}={v}" for k, v in told.items()), str(BIN / "supervisorctl"), "top", *words]
    )
    size = ("-x", str(columns), "-y", str(lines))
    started = await asyncio.to_thread(tmux.run, "new-session", "-d", "-s", "top", *size, command)
    assert started.returncode == 0, started.stderr
    try:
        yield Screen(tmux)
    finally:
        await asyncio.to_thread(tmux.end)
