"""What the failures of a batch have in common, as data for JSON."""

from typing import Any

from supervisor.flow.breaker import MOST_NAMED
from supervisor.model.batch import Batch

#: how many patterns are shown
MOST_PATTERNS = 20


def patterns(batch: Batch) -> list[dict[str, Any]]:
    """The patterns of its failures, those of the most jobs first."""
    return [
        {
            **each.fingerprint._asdict(),
            "sample": each.sample,
            "count": each.count,
            "jobs": [batch.job_id(number) for number in each.numbers[:MOST_NAMED]],
            "tripped": each.tripped,
        }
        for each in batch.patterns[:MOST_PATTERNS]
    ]
