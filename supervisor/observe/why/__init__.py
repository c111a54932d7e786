"""Why a job, a batch or a pool is where it is, and what would change that: one paragraph, from the state alone.

Theory of operation. An answer says where its subject is, then gives one reason for each thing that holds it there,
each with what would end it. The reasons are read from the same state by the same rules as `plan` uses, so that they
can't disagree with what the daemon does. `jobs`, `batches` and `pools` each go through the states of their table;
`waiting` has what keeps a job from being launched, and `sealed` reads the summary of a batch that has left memory.
"""

from datetime import UTC, tzinfo

from supervisor.errors import NoSuchThing
from supervisor.model.state import State
from supervisor.observe.why import batches, jobs, pools
from supervisor.observe.why.answer import Answer as Answer
from supervisor.observe.why.answer import Cause as Cause
from supervisor.observe.why.answer import Reason as Reason
from supervisor.observe.why.scene import Scene
from supervisor.observe.why.sealed import of_sealed_batch as of_sealed_batch
from supervisor.observe.why.sealed import of_sealed_job as of_sealed_job


def why(state: State, subject: str, now: float) -> str:
    """The paragraph about an open job ("k3f9x.12"), an open batch ("k3f9x") or a pool ("local")."""
    return explain(state, subject, now).text


def explain(state: State, subject: str, now: float, zone: tzinfo = UTC) -> Answer:
    """The same with its parts. Raises NoSuchThing for what is not in the state."""
    scene = Scene(state, now, zone)
    if (pool := state.pools.get(subject)) is not None:
        return pools.of_pool(scene, pool)
    if (batch := state.batches.get(subject)) is not None:
        return batches.of_batch(scene, batch)
    prefix, _, number = subject.rpartition(".")
    batch = state.batches.get(prefix)
    if batch is not None and number.isdecimal() and batch.has_job(int(number)):
        return jobs.of_job(scene, batch, int(number))
    raise NoSuchThing(
        f"there is no job, open batch or pool {subject}", hint="`supervisorctl status` lists batches and pools"
    )
