"""How much is tried of what could be tried without end.

In `make test` each property of Hypothesis is tried on a few examples, the same ones each time: a commit that passes
does not fail the next day. In `make proof` each is tried on many, and on others each time. `PROOF_ROUNDS=20` makes
that, and whatever else a proof repeats, twenty times as long.
"""

import os

from hypothesis import HealthCheck, settings

FEW, MANY = "few", "many"
ROUNDS = int(os.environ.get("PROOF_ROUNDS", "1"))

# How long an example takes says how busy the machine is.
_unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(FEW, _unhurried, max_examples=30, derandomize=True)
settings.register_profile(MANY, _unhurried, max_examples=300 * ROUNDS)


def examples(share: float) -> int:
    """For a property that takes longer than most, or needs more: this share of the examples of the others."""
    return max(1, round(settings().max_examples * share))


def is_long() -> bool:
    """Whether many examples are tried: `pytest --hypothesis-profile=many`."""
    return settings.get_current_profile_name() == MANY
