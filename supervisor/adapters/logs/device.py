"""The `Logs` port: a thread that reads, tasks that follow the agents of other hosts, and the logs on disk."""

import threading
import time
from collections.abc import Mapping
from contextlib import aclosing

import structlog
from anyio import CancelScope, sleep
from anyio.abc import TaskGroup

from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.books import Books
from supervisor.adapters.logs.ingest import Ingest
from supervisor.adapters.logs.panes import Panes
from supervisor.adapters.logs.store import LogStore
from supervisor.errors import MngrFailed
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.model.usage import Usage
from supervisor.ports import AgentAddress, Agents, LogPiece, Sight
from supervisor.threads import in_thread, surely
from supervisor.transcripts.redact import Redactor
from supervisor.transcripts.refusals import PHRASES, Phrase

#: How long the thread rests between two rounds.
ROUND_SECONDS = 0.2
#: A follower is a mngr process of 100 MB; the agents beyond are read when they end.
MOST_FOLLOWERS = 16
FOLLOW_AGAIN_SECONDS = 30.0
#: A follower queues at most this many lines; then it waits for the thread to take them.
MOST_BROUGHT = 2000
#: An agent that has published may end its turn: its last words have cost something.
LAST_WORDS_SECONDS, LOOK_SECONDS = 30.0, 0.2
#: The same on another host. A turn ends when all that it took is in the events.
LAST_WORDS = f"""
cd "$MNGR_AGENT_STATE_DIR" || exit 0
left={LAST_WORDS_SECONDS:.0f}
while [ -e active ] && [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done
"""
#: How long ago anything of the agent's changed, by its host's own clock.
NEWEST = r"""
cd "$MNGR_AGENT_STATE_DIR" || exit
newest=$(find events logs/*_transcript active -path events/logs -prune -o -type f -printf '%T@\n' 2>/dev/null)
[ -e events ] && [ -n "$(find events -path events/logs -prune -o -type f -size +0 -print -quit)" ] ||
  newest="$newest $(tmux list-panes -a -F '#{@mngr_agent_id} #{window_activity}' | sed -n "s/^$MNGR_AGENT_ID //p")"
echo $(($(date +%s) - $(printf '%s\n' $newest | sort -n | tail -n 1 | cut -d. -f1)))
"""

log = structlog.get_logger()


class AgentLogs:
    def __init__(
        self,
        layout: Layout,
        agents: Agents,
        redactor: Redactor,
        panes: Panes,
        tasks: TaskGroup,
        *,
        phrases: tuple[Phrase, ...] = PHRASES,
    ) -> None:
        """`tasks`: in which the agents of other hosts are followed."""
        self._agents, self._redactor = agents, redactor
        self._store, self._books = LogStore(layout), Books(layout.state_dir / "logs.sqlite3")
        self._ingest = Ingest(self._store, self._books, redactor, agents.state_dir, panes)
        self._ingest.phrases = phrases
        self._tasks = tasks
        self._followers: dict[AttemptKey, CancelScope] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._rounds, name="logs", daemon=True)
        self._thread.start()

    def _rounds(self) -> None:
        more = False
        while not self._closing.wait(0.0 if more else ROUND_SECONDS):
            try:
                more = self._ingest.round()
            except Exception:
                log.exception("bug while reading logs")
                more = False

    def watch(self, attempts: Mapping[AttemptKey, Attempt]) -> None:
        self._ingest.watch(attempts)
        for key in self._followers.keys() - attempts.keys():
            self._followers.pop(key).cancel()
        for attempt in attempts.values():
            if attempt.provider != "local" and attempt.stage is Stage.LIVE and attempt.key not in self._followers:
                if len(self._followers) >= MOST_FOLLOWERS:
                    return
                following = self._followers[attempt.key] = CancelScope()
                self._tasks.start_soon(self._follow, attempt, following)

    async def _follow(self, attempt: Attempt, following: CancelScope) -> None:
        with following:
            while True:
                try:
                    await self._bring(attempt, forever=True)
                except (MngrFailed, OSError) as failed:
                    log.info("can't follow an agent now", attempt=str(attempt.key), why=str(failed))
                except Exception:
                    log.exception("bug while following an agent", attempt=str(attempt.key))
                await sleep(FOLLOW_AGAIN_SECONDS)

    async def _bring(self, attempt: Attempt, *, forever: bool) -> None:
        async with aclosing(self._agents.follow(AgentAddress.of(attempt), forever=forever)) as lines:
            async for line in lines:
                while not self._ingest.bring(attempt, line, MOST_BROUGHT):  # noqa: ASYNC110 -- a thread takes them
                    await sleep(ROUND_SECONDS)

    def learn(self, env: Mapping[str, str]) -> None:
        self._redactor.learn_environment(env)

    def sight(self, key: AttemptKey) -> Sight | None:
        return self._ingest.sight(key)

    async def active_at(self, attempt: Attempt) -> float | None:
        said = await self._agents.exec(AgentAddress.of(attempt), NEWEST)
        age = said.stdout.strip()
        return time.time() - max(0, int(age)) if age.lstrip("-").isdigit() and len(age) < 12 else None

    async def finish(self, attempt: Attempt, *, published: bool) -> Usage:
        if (follower := self._followers.pop(attempt.key, None)) is not None:
            follower.cancel()
        if not self._ingest.is_finished(attempt):
            try:
                await (
                    self._stop(attempt, published) if attempt.provider == "local" else self._end(attempt, published)
                )
            except MngrFailed as failed:
                log.info("can't read the last of an agent's events", attempt=str(attempt.key), why=failed.message)
        return await in_thread(self._ingest.finish, attempt, pane=not published)

    async def _stop(self, attempt: Attempt, published: bool) -> None:
        """Stop the agent before the final count, because it would otherwise use more than was counted. An agent that
        has published may end its turn first."""
        if not self._ingest.keeps_transcript(attempt):
            return
        deadline = time.monotonic() + LAST_WORDS_SECONDS
        while published and time.monotonic() < deadline and self._ingest.is_amid_turn(attempt):  # noqa: ASYNC110
            await sleep(LOOK_SECONDS)
        if not published:
            await in_thread(self._ingest.keep_pane, attempt)
        await self._agents.stop([AgentAddress.of(attempt)])

    async def _end(self, attempt: Attempt, published: bool) -> None:
        if attempt.host_id:
            if published:
                await self._agents.exec(AgentAddress.of(attempt), LAST_WORDS)
            await self._bring(attempt, forever=False)

    async def read(self, key: AttemptKey, after: int = 0) -> LogPiece:
        lines, place = await in_thread(self._store.read, key, after)
        return LogPiece(tuple(line.decode(errors="replace") for line in lines), place)

    async def close(self) -> None:
        for follower in self._followers.values():
            follower.cancel()
        self._closing.set()
        await surely(self._thread.join)
        self._books.close()
