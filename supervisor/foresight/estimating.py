"""What a batch would cost and how long it would take, drawn again and again from what earlier jobs took.

Each draw gives every test the tokens and the time of one of its own earlier jobs, or else of any job of the
repository, and simulates the slots, the verify slots and the integration. The spread is that of the draws.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from supervisor.foresight.past import Before
from supervisor.model.price import MICRO, Price, cost

DRAWS, MOST_STEPS, FEWEST_DRAWS = 100, 200_000, 10
#: the most jobs of one test that are used: its last ones
MOST_OWN = 5
#: with fewer samples, the estimate is a guess
FEW_SAMPLES = 5
#: more slots are not advised if they make the batch faster by less than this factor
WORTH = 1.1


@dataclass(frozen=True, slots=True)
class Spread:
    """Nine of ten draws are below `high`, and nine of ten above `low`."""

    low: float
    likely: float
    high: float


@dataclass(frozen=True, slots=True)
class Budget:
    """A cap of a batch, or of an account for a period: tokens, or micro-dollars."""

    name: str
    cap: int
    is_money: bool = False
    #: what is neither spent nor reserved
    left: int | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """How many such batches a budget is enough for, and what is left of it."""

    budget: Budget
    times: float
    left_times: float


@dataclass(frozen=True, slots=True)
class Means:
    """What a batch has to run with."""

    slots: int
    verify_slots: int = 1
    #: what may be spent
    budgets: tuple[Budget, ...] = ()
    #: the prices, if the account pays with money; (): a subscription, or no account
    prices: tuple[Price, ...] = ()
    #: the length of its window; 0: it has none
    window_seconds: float = 0


@dataclass(frozen=True, slots=True)
class Overheads:
    """The time that earlier batches took in addition to their agents' work."""

    #: in a verify slot, for each claim
    verify_seconds: tuple[float, ...] = ()
    integrate_seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    tokens: Spread
    seconds: Spread
    slots: int
    #: with more slots than these, it would not be much faster
    advised_slots: int
    advised_seconds: float
    #: micro-dollars; None: no money is paid
    money: Spread | None
    #: how often such a batch fits into each budget
    fits: tuple[Fit, ...]
    #: the number of earlier jobs that it is drawn from, and of their batches
    samples: int
    batches: int
    #: tests that have been worked on before
    known_tests: int
    #: there is too little to draw from
    is_guess: bool


@dataclass(slots=True)
class _Chance:
    """A linear congruential generator: the same question gets the same draws, and nothing here is secret."""

    state: int = 1

    def one[T](self, of: Sequence[T]) -> T:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return of[(self.state >> 33) % len(of)]


@dataclass(slots=True)
class _Samples:
    every: list[Before] = field(default_factory=list)
    own: dict[str, list[Before]] = field(default_factory=dict)

    def of(self, test: str) -> Sequence[Before]:
        return self.own.get(test) or self.every


def estimate(
    tests: Sequence[str], past: Sequence[Before], means: Means, overheads: Overheads, profile: str
) -> Estimate | None:
    """`past` is newest first. None: there are no earlier jobs, or there is nothing to do."""
    samples = _sampled(past, profile)
    if not tests or not samples.every or not means.slots:
        return None
    draws = max(FEWEST_DRAWS, min(DRAWS, MOST_STEPS // len(tests)))
    chance = _Chance()
    works = [[chance.one(samples.of(test)) for test in tests] for _ in range(draws)]
    tokens = _spread([float(sum(each.tokens for each in work)) for work in works])
    paid = [float(sum(cost(means.prices, each.usage, each.usage.model) for each in work)) for work in works]
    money = _spread(paid) if means.prices else None
    seconds = _spread([_seconds(work, means.slots, means.verify_slots, overheads) for work in works])
    advised, then = _advised(works[:FEWEST_DRAWS], means, overheads)
    known = sum(test in samples.own for test in tests)
    return Estimate(
        tokens,
        seconds,
        slots=means.slots,
        advised_slots=advised,
        advised_seconds=then,
        money=money,
        fits=tuple(_fits(means.budgets, tokens, money)),
        samples=len(samples.every),
        batches=len({each.batch for each in samples.every}),
        known_tests=known,
        is_guess=len(samples.every) < FEW_SAMPLES or 2 * known < len(tests),
    )


def _fits(budgets: Sequence[Budget], tokens: Spread, money: Spread | None) -> Iterator[Fit]:
    for each in budgets:
        spread = money if each.is_money else tokens
        if spread is not None and spread.likely:
            left = each.cap if each.left is None else max(0, each.left)
            yield Fit(each, each.cap / spread.likely, left / spread.likely)


def _sampled(past: Sequence[Before], profile: str) -> _Samples:
    """Jobs of the same profile, if there are any: another profile may have another agent."""
    whole = [each for each in past if each.seconds is not None and each.outcome not in ("", "cancelled")]
    alike = [each for each in whole if each.profile == profile] or whole
    samples = _Samples(alike)
    for each in alike:
        own = samples.own.setdefault(each.test, [])
        if len(own) < MOST_OWN:
            own.append(each)
    return samples


def _seconds(work: Sequence[Before], slots: int, verify_slots: int, overheads: Overheads) -> float:
    chance = _Chance(len(work))
    ends = list(_ends([(each.seconds or 0.0) * each.attempts for each in work], slots))
    busy = [0.0] * max(1, verify_slots)
    for end in sorted(ends):
        takes = chance.one(overheads.verify_seconds) if overheads.verify_seconds else 0.0
        heappush(busy, max(heappop(busy), end) + takes)
    integration = _median(overheads.integrate_seconds) if overheads.integrate_seconds else 0.0
    return max(*busy, *ends) + integration


def _ends(works: Sequence[float], slots: int) -> Iterator[float]:
    free = [0.0] * min(slots, len(works))
    heapify(free)
    for seconds in works:
        end = heappop(free) + seconds
        heappush(free, end)
        yield end


def _advised(works: Sequence[Sequence[Before]], means: Means, overheads: Overheads) -> tuple[int, float]:
    """The fewest slots that are about as fast as one for each job, or that fit into the window; and the time."""

    def takes(slots: int) -> float:
        return _median([_seconds(work, slots, means.verify_slots, overheads) for work in works])

    low, high = 1, len(works[0])
    enough = max(means.window_seconds, WORTH * takes(high))
    while low < high:
        middle = (low + high) // 2
        if takes(middle) <= enough:
            high = middle
        else:
            low = middle + 1
    return low, takes(low)


def _spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)
    return Spread(*(ordered[round(share * (len(ordered) - 1))] for share in (0.1, 0.5, 0.9)))


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def as_data(found: Estimate | None) -> Mapping[str, object] | None:
    """For JSON; additive."""
    if found is None:
        return None

    def spread(each: Spread, scale: float = 0.0) -> dict[str, float]:
        """Dollars have cents."""
        found = {"low": each.low, "likely": each.likely, "high": each.high}
        return {name: round(value * scale, 2) if scale else round(value) for name, value in found.items()}

    return {
        "tokens": spread(found.tokens),
        "dollars": None if found.money is None else spread(found.money, 1 / MICRO),
        "seconds": spread(found.seconds),
        "slots": found.slots,
        "advised_slots": found.advised_slots,
        "advised_seconds": round(found.advised_seconds),
        "budgets": [
            {
                "name": each.budget.name,
                "unit": "dollars" if each.budget.is_money else "tokens",
                "cap": each.budget.cap / MICRO if each.budget.is_money else each.budget.cap,
                "times": round(each.times, 2),
                "left_times": round(each.left_times, 2),
            }
            for each in found.fits
        ],
        "samples": found.samples,
        "batches": found.batches,
        "known_tests": found.known_tests,
        "is_guess": found.is_guess,
    }
