"""What a failure of a drill means, and what to do about it."""

from collections.abc import Mapping

from supervisor.adapters.mngr.ssh_hosts import looked_at
from supervisor.boot import mngr_settings
from supervisor.settings import Settings
from supervisor.settings.pools import PoolTable

LEFT = "look at them by `mngr list`, and end them by `mngr destroy --force NAME`"
#: for each step: what the failure says of the box, and where to look
MEANINGS: Mapping[str, str] = {
    "launch": "mngr can't start agents in this pool",
    "work and publish": "an agent was started there and did not publish: are python3, git and bash on its PATH?",
    "collect": "what agents publish there does not come home: see that rsync and git work there",
    "verify": "what agents claim there can't be run again: `supervisorctl doctor` says what its hosts lack",
    "branch": "verified work did not get to a branch: this is no matter of the pool",
    "put away": "agents that are done are not put away: look for them by `mngr list`",
    "agent killed": "an agent that dies is not replaced: its death is seen by `mngr list`, which may be slow",
    "mngr call killed": "a call of mngr that is cut short leaves this pool in disorder",
    "daemon killed": "a daemon that dies does not find its agents again",
}
REPORT = "please report this, with the output of `supervisorctl doctor`"
OURS = frozenset({"branch", "put away", "agent killed", "mngr call killed", "daemon killed"})


def of(judged: Settings, pool: PoolTable, step: str, detail: str) -> tuple[str, str]:
    """What it means, with what was seen; and what to do."""
    here = pool.provider == "local"
    unseen = "" if here else "; ".join(_unseen(judged, pool))
    meaning = MEANINGS.get(step, "")
    if unseen:
        hint = "start the ssh server there, or see that the daemon's user reaches it with the key of mngr's settings"
        return f"{unseen} ({detail})", f"{hint}; the pool is of no use until then"
    if step in OURS:
        return f"{meaning}: {detail}", REPORT
    return f"{meaning}: {detail}", _look(judged, pool)


def _unseen(judged: Settings, pool: PoolTable) -> list[str]:
    """The hosts of an ssh pool that can't be reached."""
    alone = judged.model_copy(update={"pools": (pool,)})
    return [f"host {each.host} can't be reached: {each.unseen}" for each in looked_at(alone) if each.unseen]


def _look(judged: Settings, pool: PoolTable) -> str:
    by_hand = mngr_settings(judged).by_hand
    return f"see what mngr says: `{by_hand} gc --dry-run --provider {pool.provider}`; then docs/remote.md"
