"""Collects what an agent published, or what it left: fetched from its host, unpacked, and kept under a ref."""

from collections.abc import Sequence
from pathlib import Path

from supervisor.adapters.layout import PUBLISHED, Layout
from supervisor.adapters.recordings.keeping import RecordingsOfAttempts
from supervisor.errors import DeviceFailed, Hostile, MngrFailed
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR
from supervisor.model.publication import Publication
from supervisor.ports import AgentAddress, Agents, Collection, Picture
from supervisor.publication.archive import unpack
from supervisor.publication.awaiting import WAIT_SECONDS, pictured, waiting
from supervisor.publication.clone import head_of
from supervisor.publication.quarantine import Quarantine
from supervisor.publication.rescuing import RESCUE_SECONDS, Rescuer, rescue_command
from supervisor.publication.rules.outcome import claimed
from supervisor.threads import at_length, in_thread, surely

#: The deadline of a look at which agents of a host have published.
LOOK_SECONDS = 15.0


class WorkCollector:
    def __init__(self, agents: Agents, quarantine: Quarantine, layout: Layout) -> None:
        self._agents, self._quarantine, self._layout = agents, quarantine, layout
        self._recordings = RecordingsOfAttempts(layout)
        self._rescuer = Rescuer(agents, quarantine, layout)

    async def published(self, attempts: Sequence[Attempt]) -> set[AttemptKey]:
        if attempts and attempts[0].provider != "local":
            return await self._published_elsewhere(attempts)
        # Called ten times a second for every agent: a stat of a local file does not need a thread.
        return {a.key for a in attempts if (self._agents.state_dir(a.agent_id) / PUBLISHED).exists()}

    async def _published_elsewhere(self, attempts: Sequence[Attempt]) -> set[AttemptKey]:
        """mngr reaches a host through one of its agents; if that one is gone, the next is asked."""
        ids = " ".join(attempt.agent_id for attempt in attempts)
        look = f'for a in {ids}; do test -f "$MNGR_AGENT_STATE_DIR/../$a/{PUBLISHED}" && echo "$a"; done; echo looked'
        silent = ""
        for attempt in attempts:
            try:
                said = await self._agents.exec(AgentAddress.of(attempt), look, timeout=LOOK_SECONDS)
            except MngrFailed as failed:
                if failed.reason != "no-such-agent":
                    raise
                continue
            if "looked" in (words := set(said.stdout.split())):
                return {each.key for each in attempts if each.agent_id in words}
            silent = attempt.agent_name
        if silent:
            raise DeviceFailed(f"can't look at what was published on the host of {silent}")
        return set()

    async def news(self, attempts: Sequence[Attempt], last: Picture) -> Picture:
        command, wait = waiting(last), WAIT_SECONDS + LOOK_SECONDS
        for attempt in attempts:
            try:
                said = await self._agents.exec(AgentAddress.of(attempt), command, timeout=wait, is_waiting=True)
            except MngrFailed as failed:
                if failed.reason != "no-such-agent":
                    raise
                continue
            if (seen := pictured(said.stdout)) is not None:
                return seen
        raise DeviceFailed("no agent of the host can be asked what is new there")

    async def collect(self, batch: Batch, attempt: Attempt) -> Collection:
        publication = await self._unpacked(attempt, PUBLISHED)
        report = publication.outcome
        if report is None or not publication.believable:
            refusal = publication.refusals[0] if publication.refusals else None
            reason, message = (refusal.reason, refusal.message) if refusal else ("no-outcome", "it holds no outcome")
            raise Hostile(message, reason=reason)
        head, commits = "", 0
        if publication.bundle is None:
            await self._check_that_nothing_is_left_out(batch, attempt, publication)
        else:
            imported = await self._quarantine.import_bundle(
                Path(batch.repo), publication.bundle, attempt.key, base=batch.base, head=publication.meta.head
            )
            head, commits = imported.head, imported.commits
        await self._keep_recordings(batch, attempt)
        claim, detail = claimed(report, commits)
        return Collection(head, commits, claim, detail)

    async def _keep_recordings(self, batch: Batch, attempt: Attempt) -> None:
        """Keep the recordings that the agent's own runs left in its clone, if that is on this machine."""
        key = attempt.key
        if attempt.provider != "local" or key.job == INTEGRATOR:
            return
        if (clone := self._agents.work_dir(attempt.agent_id)) is not None:
            await at_length(self._recordings.of_agent, key, batch.job(key.job).test, clone)

    async def _check_that_nothing_is_left_out(self, batch: Batch, attempt: Attempt, publication: Publication) -> None:
        """Without commits it counts as no work, and the agent is destroyed; so there must really be none."""
        if (refusal := next((each for each in publication.refusals if each.part == "bundle"), None)) is not None:
            raise Hostile(refusal.message, reason=refusal.reason)
        if attempt.provider != "local" or (clone := self._agents.work_dir(attempt.agent_id)) is None:
            return
        if await in_thread(head_of, clone) not in ("", batch.base) and attempt.key.job != INTEGRATOR:
            raise Hostile("it holds no commits, and its clone has some", reason="commits-left-out")

    async def rescue(self, batch: Batch, attempt: Attempt) -> Collection:
        if attempt.provider == "local" and (clone := self._agents.work_dir(attempt.agent_id)) is not None:
            return await self._rescuer.here(batch, attempt, clone)
        address = AgentAddress.of(attempt)
        try:
            said = await self._agents.exec(address, rescue_command(), timeout=RESCUE_SECONDS)
        except MngrFailed as failed:
            if failed.reason == "no-such-agent":
                return Collection(detail="the agent is gone, with all it had")
            raise
        return await self._rescuer.elsewhere(batch, attempt, said)

    async def lay_out(self, batch: Batch, attempt: Attempt) -> None:
        key = AttemptKey(*attempt.key[:2], attempt.continues)
        patch = await self._quarantine.patch_of(Path(batch.repo), key, base=batch.base)
        await in_thread(self._write_patch, self._layout.earlier(attempt.key), patch)

    def _write_patch(self, path: Path, patch: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if patch:
            path.write_bytes(patch)

    async def _unpacked(self, attempt: Attempt, name: str) -> Publication:
        into = self._layout.attempt(attempt.key) / Path(name).stem
        if attempt.provider == "local":
            return await at_length(unpack, self._agents.state_dir(attempt.agent_id) / name, into)
        address = AgentAddress.of(attempt)
        where = (await self._agents.exec(address, 'echo "$MNGR_AGENT_STATE_DIR"')).stdout.strip()
        if not where.startswith("/"):
            raise DeviceFailed(f"can't tell where the agent {attempt.agent_name} keeps its state")
        archive = into.with_suffix(".tar")
        await in_thread(archive.parent.mkdir, parents=True, exist_ok=True)
        try:
            await self._agents.pull(address, f"{where}/{name}", archive)
            return await at_length(unpack, archive, into)
        finally:
            await surely(archive.unlink, missing_ok=True)
