"""What a pool with room waits for, if its provider's launch rate limits new hosts or agents."""

from supervisor.flow import rates
from supervisor.model.pool import Pool
from supervisor.model.state import State


def held_back(state: State, pool: Pool, now: float) -> str | None:
    rate = rates.of(state, pool)
    if rates.is_full(state, pool):
        return f"jobs wait for {_created(pool)} that {pool.provider} is making"
    if rate.next_at <= now:
        return None
    per, unit = (rate.per_second, "second") if rate.per_second >= 1 else (60 * rate.per_second, "minute")
    why = ", because it refused some for their rate" if rate.learned else ""
    return f"jobs wait for {pool.provider}, which is asked for {per:.3g} {_created(pool)} a {unit}{why}"


def _created(pool: Pool) -> str:
    return "new hosts" if pool.agents_per_host else "new agents"
