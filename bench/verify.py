"""Claims verified together, beside the same claims one by one: starts of pytest, setups, time, and their verdicts.

    python -m bench.verify [--claims 60] [--files 20] [--seeds 1..1] [--one-by-one 20] [--curve]

A tenth of the claims is false, flaky, masked by a neighbour, or breaks another test. `--one-by-one` takes so many of
them, spread evenly, and extrapolates; 0 takes all. Each of these must get the same verdict both times, but for a
flaky one. `--curve` goes from 100 to so many claims and prints the exponent.
"""

import argparse
import asyncio
import math
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.model.batch import Batch
from supervisor.model.verdict import Verdict
from supervisor.verification.judge import ProvingJudge
from supervisor.verification.trials.trial import Trial, Trials
from tests.verification.generated import TRUTH, Generated, generate, plan
from tests.verification.settling import settle


class CountedTrials(Trials):
    starts = setups = forks = 0

    @asynccontextmanager
    async def trial(
        self, batch: Batch, sha: str, name: str, *, replaced: Mapping[str, bytes | None] | None = None
    ) -> AsyncIterator[Trial]:
        async with super().trial(batch, sha, name, replaced=replaced) as trial:
            self.setups += 1
            try:
                yield trial
            finally:
                self.starts += len(trial.runs)
                self.forks += sum(len(run.report.forks) for run in trial.runs)


@dataclass(frozen=True, slots=True)
class Cost:
    claims: int
    starts: float
    setups: float
    seconds: float
    #: of processors
    work: float
    #: in which a test was run with a fault
    forks: float = 0

    def times(self, more: float) -> "Cost":
        parts = (self.starts, self.setups, self.seconds, self.work, self.forks)
        return Cost(round(self.claims * more), *(part * more for part in parts))

    def __str__(self) -> str:
        each = f"{self.starts / self.claims:.2f} starts and {self.seconds / self.claims:.2f} s a claim"
        took = f"{self.seconds:.0f} s, {self.work:.0f} s of CPU"
        forks = f" ({self.forks:.0f} forks)" if self.forks else ""
        return f"{self.starts:.0f} starts of pytest{forks}, {self.setups:.0f} setups, {took} ({each})"


def worked() -> float:
    """Seconds of processors that we have used, and what has ended below us."""
    return sum(sum(resource.getrusage(whose)[:2]) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


async def together(folder: Path, made: Generated) -> tuple[Cost, dict[int, Verdict]]:
    """And the verdicts."""
    store = GitStore(folder / "state")
    trials = CountedTrials(store, folder / "state")
    began, before = time.monotonic(), worked()
    found = await settle(ProvingJudge(store, Layout(folder / "state"), trials), made)
    seconds, work = time.monotonic() - began, worked() - before
    print(f"  groups of {', '.join(str(len(group)) for group in found.groups if len(group) > 1)};", end=" ")
    print(f"{len(found.put_back)} claims put back")
    for why, count in Counter(found.put_back.values()).most_common():
        print(f"    {count}: {why[:150]}")
    return Cost(len(made.jobs), trials.starts, trials.setups, seconds, work, trials.forks), found.verdicts


async def one_by_one(folder: Path, made: Generated, sample: int) -> tuple[Cost, dict[int, Verdict]]:
    """And the verdicts."""
    store = GitStore(folder / "state")
    trials = CountedTrials(store, folder / "state")
    judge = ProvingJudge(store, Layout(folder / "state"), trials)
    jobs = made.jobs[:: max(1, len(made.jobs) // sample)] if sample else made.jobs
    began, before = time.monotonic(), worked()
    verdicts = {job.number: await judge.verify(made.batch, job) for job in jobs}
    more, seconds, work = len(made.jobs) / len(jobs), time.monotonic() - began, worked() - before
    return Cost(len(jobs), trials.starts, trials.setups, seconds, work).times(more), verdicts


def wrong(made: Generated, shared: Mapping[int, Verdict], alone: Mapping[int, Verdict]) -> Iterator[str]:
    """Verdicts that are not true, and those that are not what runs of the claim's own say."""
    for claim in made.claims:
        one, other = shared[claim.number], alone.get(claim.number)
        is_as_alone = other is None or claim.kind == "flaky" or other.verification == one.verification
        if one.verification not in TRUTH[claim.kind] or not is_as_alone:
            by_itself = f", and by itself {other.verification} ({other.reason})" if other is not None else ""
            yield f"{claim.number} ({claim.kind}) is {one.verification} ({one.reason}){by_itself}"


async def measured(claims: int, files: int, seed: int, sample: int | None) -> tuple[Cost, Cost | None, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        made = await generate(Path(folder), plan(claims, files, seed), files)
        cost, shared = await together(Path(folder), made)
        if sample is None:
            return cost, None, list(wrong(made, shared, {}))
        beside, alone = await one_by_one(Path(folder), made, sample)
        return cost, beside, list(wrong(made, shared, alone))


def compared(said: argparse.Namespace, seed: int) -> tuple[Cost, int]:
    """What the claims of one seed cost together, and how many verdicts are wrong."""
    cost, alone, found = asyncio.run(measured(said.claims, said.files, seed, said.one_by_one))
    assert alone is not None
    print(f"  seed {seed}, {said.claims} claims in {said.files} files, together: {cost}")
    print(f"  one by one: {alone}")
    print(f"  together takes {cost.starts / alone.starts:.2f} of the starts", end=", ")
    print(
        f"{cost.setups / alone.setups:.2f} of the setups, {cost.seconds / alone.seconds:.2f} of the time", flush=True
    )
    for each in found:
        print(f"  WRONG: {each}")
    sys.stdout.flush()
    return cost, len(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=60)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--seeds", type=_seeds, default=range(1, 2), metavar="A..B")
    parser.add_argument("--one-by-one", type=int, default=20)
    parser.add_argument("--curve", action="store_true")
    said = parser.parse_args()
    found = [compared(said, seed) for seed in said.seeds]
    count = sum(each for _, each in found)
    if len(found) > 1:
        print(f"  {len(found)} seeds, {len(found) * said.claims} claims: {count} wrong verdicts")
    if said.curve:
        cost = found[0][0]
        small, _, _ = asyncio.run(measured(100, said.files, said.seeds[0], None))
        exponent = math.log(cost.seconds / small.seconds) / math.log(cost.claims / small.claims)
        print(f"  from {small.claims} to {cost.claims} claims, the time grows with the power {exponent:.2f}")
    return bool(count)


def _seeds(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    raise SystemExit(main())
