"""What a batch would cost: drawn from earlier jobs, and passed through slots."""

from hypothesis import given
from hypothesis import strategies as st

from supervisor.foresight.estimating import Budget, Estimate, Means, Overheads, estimate
from supervisor.foresight.past import Before
from supervisor.model.price import Price
from supervisor.model.usage import Usage

TESTS = [f"t.py::test_{number}" for number in range(8)]

NONE = Overheads()


def before(test: str, seconds: float, tokens: int, batch: str = "a", profile: str = "default") -> Before:
    return Before(batch, 1, test, 1, profile, "clean", "empty", Usage(input=tokens, model="m"), seconds)


def certain(**more: float) -> list[Before]:
    """Each test took 100 s and 1000 tokens, but for some."""
    return [before(test, more.get(test.rpartition("_")[2], 100.0), 1000) for test in TESTS]


def found(past: list[Before], means: Means, overheads: Overheads = NONE, tests: list[str] = TESTS) -> Estimate:
    answer = estimate(tests, past, means, overheads, "default")
    assert answer is not None
    return answer


def test_jobs_wait_for_slots_claims_for_verify_slots_and_all_for_the_integration() -> None:
    assert found(certain(), Means(4)).seconds.likely == 200
    assert found(certain(), Means(3)).seconds.likely == 300
    assert found(certain(), Means(8), Overheads((50.0,), (7.0,))).seconds.likely == 100 + 8 * 50 + 7
    assert found(certain(), Means(8, 2), Overheads((50.0,))).seconds.likely == 100 + 4 * 50
    assert found(certain(), Means(4)).tokens.likely == 8000


def test_more_slots_are_advised_only_where_they_help() -> None:
    assert found(certain(), Means(1)).advised_slots == 8
    assert found(certain(), Means(1), Overheads((100.0,))).advised_slots == 1, "verification is the limit"
    assert found(certain(), Means(1, window_seconds=400)).advised_slots == 2


def test_budgets_are_counted_in_batches() -> None:
    day = Budget("tokens a day", 40_000, left=12_000)
    [batch, account] = found(certain(), Means(4, budgets=(Budget("a batch", 20_000), day))).fits
    assert (batch.times, batch.left_times) == (2.5, 2.5)
    assert (account.times, account.left_times) == (5.0, 1.5)
    assert found(certain(), Means(4)).fits == ()


def test_money_is_told_where_money_is_paid() -> None:
    """Of a subscription no dollars are told, and no cap of dollars counts."""
    price, cap = Price("m", 3.0, 0, 0, 0), Budget("dollars a day", 48_000, is_money=True)
    answer = found(certain(), Means(4, prices=(price,), budgets=(cap,)))
    assert answer.money is not None
    assert answer.money.likely == 8000 * 3
    assert [each.times for each in answer.fits] == [2.0]
    free = found(certain(), Means(4, budgets=(cap,)))
    assert (free.money, free.fits) == (None, ())


def test_it_says_what_it_knows_and_when_it_guesses() -> None:
    few = [before(TESTS[0], 10.0, 100), before(TESTS[0], 30.0, 300, "b")]
    answer = found(few, Means(1))
    assert (answer.samples, answer.batches, answer.known_tests, answer.is_guess) == (2, 2, 1, True)
    assert answer.tokens.low < answer.tokens.high
    assert not found(certain(), Means(1)).is_guess
    assert estimate(TESTS, [], Means(1), Overheads(), "default") is None
    assert estimate([], certain(), Means(1), Overheads(), "default") is None


def test_jobs_of_another_profile_count_only_where_there_are_no_others() -> None:
    other = [before(test, 9.0, 9, profile="night") for test in TESTS]
    assert found([*other, *certain()], Means(8)).tokens.likely == 8000
    assert found(other, Means(8)).tokens.likely == 72


@given(
    st.lists(st.tuples(st.floats(0, 1000), st.integers(0, 10**6)), min_size=1, max_size=12),
    st.integers(1, 10),
    st.integers(1, 4),
    st.lists(st.floats(0, 100), max_size=5),
)
def test_more_means_never_make_it_slower_and_nothing_beats_its_longest_job(
    jobs: list[tuple[float, int]], slots: int, verify_slots: int, checks: list[float]
) -> None:
    past = [before(TESTS[number % 8], *job) for number, job in enumerate(jobs)]
    overheads = Overheads(tuple(checks))
    answer = found(past, Means(slots, verify_slots), overheads)
    assert answer.tokens.low <= answer.tokens.likely <= answer.tokens.high
    assert answer.seconds.low <= answer.seconds.likely <= answer.seconds.high
    assert 1 <= answer.advised_slots <= len(TESTS)
    one = found(past, Means(1, verify_slots), overheads)
    assert one.seconds.likely >= answer.seconds.low - 1e-6
    assert found(past, Means(slots, verify_slots), overheads) == answer, "the same question, the same answer"
