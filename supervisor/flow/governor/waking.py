"""What it costs to wake a sleeping agent up, compared with starting its job again.

Theory of operation. With each request an agent sends its whole conversation again. Its provider keeps that in a cache
for a few minutes, and charges a tenth of the price for it meanwhile. After a longer sleep all of it is new input, and
is written to the cache once more: that costs 12 times as much. So an agent that is woken warm, or has a small
conversation, goes on. With a large and cold one it may cost less to start the job again from what was rescued.

The cost of starting again is not known beforehand; at most it is that of a whole job. So the estimate is the mean of
the jobs of its batch, or else of its account. A few jobs prove nothing, because the cheapest end first: then the
estimate is what the agent itself has used, which is more than waking it costs, because its whole conversation was new
input once.

All costs are computed with the price table, which weighs the kinds of tokens of a subscription as well.
"""

from supervisor.model.attempt import Attempt
from supervisor.model.price import of_model
from supervisor.model.state import State
from supervisor.model.usage import Usage
from supervisor.model.waking import Waking

#: How long a provider's cache keeps what was sent last, without another request.
CACHE_SECONDS = 300.0
#: the mean of fewer jobs says little
KNOWN_JOBS = 3


def priced(state: State, attempt: Attempt, at: float) -> Waking | None:
    """What it costs to wake the agent at that time; None: nothing is known of its conversation."""
    if not (context := attempt.usage.context):
        return None
    price = of_model(state.budget.prices, attempt.usage.model)
    cold = at - attempt.served_at > CACHE_SECONDS
    sent = Usage(input=context, written=context) if cold else Usage(cached=context)
    jobs, used = _known(state, attempt)
    account = state.accounts[attempt.account]
    return Waking(
        context=context,
        cold=cold,
        cost=price.of(sent),
        instead=price.of(used) // jobs,
        per_token=0.0 if account.spec.is_paid else price.input,
    )


def _known(state: State, attempt: Attempt) -> tuple[int, Usage]:
    """The number of jobs from which the cost of one is estimated, and what they used."""
    batch, account = state.batches[attempt.key.batch], state.accounts[attempt.account]
    for jobs, used in ((batch.ended, batch.ended_usage), (account.jobs, account.job_usage)):
        if jobs >= KNOWN_JOBS:
            return jobs, used
    return 1, attempt.usage
