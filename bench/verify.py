"""Claims verified together, beside the same claims one by one: starts of pytest, setups, seconds, and their verdicts.

    python -m bench.verify [--claims 60] [--files 20] [--seed 1] [--one-by-one 20] [--curve]

A tenth of the claims is false, flaky, masked by a neighbour, or breaks another test. `--one-by-one` takes so many of
them, spread evenly, and extrapolates; 0 takes all. `--curve` goes from 25 to so many claims and prints the exponent.
"""

import argparse
import asyncio
import math
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.model.batch import Batch
from supervisor.verification.judge import ProvingJudge
from supervisor.verification.trials.trial import Trial, Trials
from tests.verification.generated import TRUTH, Generated, generate, plan
from tests.verification.settling import settle


class CountedTrials(Trials):
    starts = setups = 0

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


@dataclass(frozen=True, slots=True)
class Cost:
    claims: int
    starts: float
    setups: float
    seconds: float

    def __str__(self) -> str:
        each = f"{self.starts / self.claims:.2f} starts and {self.seconds / self.claims:.2f} s a claim"
        return f"{self.starts:.0f} starts of pytest, {self.setups:.0f} setups, {self.seconds:.0f} s ({each})"


async def together(folder: Path, made: Generated) -> tuple[Cost, list[str]]:
    """And what is wrong with the verdicts."""
    store = GitStore(folder / "state")
    trials = CountedTrials(store, folder / "state")
    began = time.monotonic()
    found = await settle(ProvingJudge(store, Layout(folder / "state"), trials), made)
    seconds = time.monotonic() - began
    wrong = [
        f"{claim.number} ({claim.kind}) is {found.verdicts[claim.number].verification}"
        for claim in made.claims
        if found.verdicts[claim.number].verification not in TRUTH[claim.kind]
    ]
    print(f"  groups of {', '.join(str(len(group)) for group in found.groups if len(group) > 1)};", end=" ")
    print(f"{len(found.put_back)} claims put back")
    return Cost(len(made.jobs), trials.starts, trials.setups, seconds), wrong


async def one_by_one(folder: Path, made: Generated, sample: int) -> Cost:
    store = GitStore(folder / "state")
    trials = CountedTrials(store, folder / "state")
    judge = ProvingJudge(store, Layout(folder / "state"), trials)
    jobs = made.jobs[:: max(1, len(made.jobs) // sample)] if sample else made.jobs
    began = time.monotonic()
    for job in jobs:
        await judge.verify(made.batch, job)
    more = len(made.jobs) / len(jobs)
    return Cost(len(made.jobs), trials.starts * more, trials.setups * more, (time.monotonic() - began) * more)


async def measured(claims: int, files: int, seed: int, sample: int | None) -> tuple[Cost, Cost | None, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        made = await generate(Path(folder), plan(claims, files, seed), files)
        cost, wrong = await together(Path(folder), made)
        return cost, None if sample is None else await one_by_one(Path(folder), made, sample), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=60)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one-by-one", type=int, default=20)
    parser.add_argument("--curve", action="store_true")
    said = parser.parse_args()
    cost, alone, wrong = asyncio.run(measured(said.claims, said.files, said.seed, said.one_by_one))
    assert alone is not None
    print(f"  {said.claims} claims in {said.files} files, together: {cost}")
    print(f"  one by one: {alone}")
    print(f"  together takes {cost.starts / alone.starts:.2f} of the starts", end=", ")
    print(f"{cost.setups / alone.setups:.2f} of the setups, {cost.seconds / alone.seconds:.2f} of the time")
    for each in wrong:
        print(f"  WRONG: {each}")
    if said.curve:
        small, _, _ = asyncio.run(measured(25, said.files, said.seed, None))
        exponent = math.log(cost.seconds / small.seconds) / math.log(cost.claims / small.claims)
        print(f"  from {small.claims} to {cost.claims} claims, the time grows with the power {exponent:.2f}")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
