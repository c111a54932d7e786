"""Claims on a repository that nobody here wrote, verified together and one by one: seconds from the last agent's end.

    python -m bench.real FOLDER [--package src/NAME] [--jobs 52] [--one-by-one 8] [--seed 1] [--daemon]

FOLDER is a source package with tests, such as `pip download --no-binary :all:` brings; it is copied. Some of its
functions are broken first, each so that a few tests fail. Then so many of the tests are claimed: those that fail as
fixed, with their function put right again; of the others one half as clean, the other half as improved, with one more
assertion. All wait to be verified at once, as when the agents are quick. `--one-by-one` takes so many of them, spread
evenly, and extrapolates.

With `--daemon` a whole daemon runs twice, on the real mngr, with agents of 2 s on 4 slots: with groups, and with
`verify_group = 1`. What is compared is the time from the last agent's end to the last verdict.
"""

import argparse
import asyncio
import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
import structlog

from bench.broken import ENV, PYTEST, Source, Work, worked_on
from bench.jobs import Run
from bench.verify import one_by_one, together
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.private_tmux import PrivateTmux, leave_the_users_tmux
from supervisor.model.batch import Batch
from supervisor.model.event import JobEnded, WorkCollected, WorkVerified
from supervisor.model.node import file_of
from supervisor.model.profile import Profile
from tests.agent_clone import commit, git
from tests.verification.generated import Claim, Generated

AGENT = Path(__file__).with_name("real_agent")
SLOTS, WORK_SECONDS = 4, 2.0


async def claimed(source: Source, folder: Path, jobs: int, chance: random.Random) -> Generated:
    work = worked_on(source, jobs, chance)
    git(source.folder, "init", "-q", "-b", "main")
    base = commit(source.folder, "base")
    store = GitStore(folder / "state")
    await store.snapshot(source.folder, base, "b")
    bare = pygit2.Repository(str(store.bare(source.folder)))
    found = [each.committed(bare, base, number) for number, each in enumerate(work, 1)]
    profile = Profile(pytest=PYTEST, env=ENV, python_path=(source.python_path,), test_timeout_seconds=60)
    batch = Batch("b", 1, str(source.folder), base, tuple(each.test for each in work), profile, 0.0)
    claims = [Claim(number, each.said, 0, number) for number, each in enumerate(work, 1)]
    return Generated(source.folder, batch, claims, found)


@dataclass
class Whole(Run):
    """A whole batch on a daemon."""

    repo: Path = Path()
    work_there: list[Work] = field(default_factory=list)
    python_path: str = ""
    group: int = 32

    async def source(self) -> tuple[Path, tuple[str, ...]]:
        for each in self.work_there:
            each.lay_out(self.folder / "work")
        return self.repo, tuple(each.test for each in self.work_there)

    @property
    def profile(self) -> Profile:
        env = {**ENV, "BENCH_WORK": str(self.folder / "work"), "BENCH_WORK_SECONDS": f"{self.work:g}"}
        return Profile(
            agent="command",
            command=(str(AGENT),),
            pytest=PYTEST,
            env=env,
            python_path=(self.python_path,),
            test_timeout_seconds=60,
            verify_group=self.group,
            integrator=False,
        )

    def waited(self) -> tuple[float, float, Counter[str]]:
        """Seconds until the last agent's end, from there to the last verdict, and the verdicts."""
        first = min(event.at for event in self.events)
        collected = max(event.at for event in self.events if isinstance(event, WorkCollected))
        ended = max(event.at for event in self.events if isinstance(event, JobEnded))
        verdicts = Counter(str(event.verification) for event in self.events if isinstance(event, WorkVerified))
        return collected - first, max(0.0, ended - collected), verdicts


async def by_daemons(source: Source, folder: Path, jobs: int, chance: random.Random) -> None:
    work = worked_on(source, jobs, chance)
    git(source.folder, "init", "-q", "-b", "main")
    commit(source.folder, "base")
    found = {}
    for group in (32, 1):
        place = folder / f"of-{group}"
        run = Whole(place, len(work), SLOTS, WORK_SECONDS, 2, repo=source.folder, work_there=work, group=group)
        run.python_path = source.python_path
        try:
            await run.go()
        finally:
            PrivateTmux.below(place / "state" / "tmux").end()
        agents, found[group], verdicts = run.waited()
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        waited = f"agents {agents:.0f} s, then {found[group]:.0f} s to the last verdict"
        print(f"  verify_group {group:>2}: {waited} ({told})")
    print(f"  that is {found[32] / found[1]:.2f} of one by one", flush=True)


async def measured(asked: argparse.Namespace, folder: Path) -> None:
    source = Source(folder / "repo", asked.package)
    shutil.copytree(asked.folder, source.folder)
    if asked.daemon:
        await by_daemons(source, folder, asked.jobs, random.Random(asked.seed))
        return
    made = await claimed(source, folder, asked.jobs, random.Random(asked.seed))
    kinds = Counter(claim.kind for claim in made.claims)
    print(f"{len(made.jobs)} claims in {len({file_of(job.test) for job in made.jobs})} files:", end=" ")
    print(", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    cost, verdicts = await together(folder, made)
    alone, others = await one_by_one(folder, made, asked.one_by_one)
    told = Counter((made.claims[number - 1].kind, said.verification) for number, said in verdicts.items())
    print("  " + ", ".join(f"{kind} {verdict}: {count}" for (kind, verdict), count in sorted(told.items())))
    print(f"  together: {cost}")
    print(f"  one by one: {alone}")
    print(
        f"  together takes {cost.starts / alone.starts:.2f} of the starts, {cost.seconds / alone.seconds:.2f} of",
        end="",
    )
    print(f" the time, {cost.work / alone.work:.2f} of the CPU")
    for number, said in others.items():
        if said.verification != verdicts[number].verification:
            print(
                f"  UNLIKE: {made.jobs[number - 1].test}: {verdicts[number].verification}, alone {said.verification}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--package", default="", help="the folder of its package; default: the only one below src/")
    parser.add_argument("--jobs", type=int, default=52)
    parser.add_argument("--one-by-one", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--daemon", action="store_true")
    asked = parser.parse_args()
    if not asked.package:
        [package] = (each for each in (asked.folder / "src").iterdir() if (each / "__init__.py").exists())
        asked.package = str(package.relative_to(asked.folder))
    leave_the_users_tmux()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    # Not under TMPDIR: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="sv-real-", dir="/tmp") as folder:
        asyncio.run(measured(asked, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
