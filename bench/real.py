"""Claims on a repository that nobody here wrote, verified together and one by one: seconds from the last agent's end.

    python -m bench.real FOLDER [--package src/NAME] [--jobs 52] [--one-by-one 8] [--seed 1] [--daemon]
        [--tests PATH …] [--known FILE] [--pytest COMMAND] [--env NAME=VALUE …] [--python-path FOLDER …]
        [--read PATH …] [--test-seconds 60] [--all-seconds 90] [--groups 32 1]

FOLDER is a source package with tests, such as `pip download --no-binary :all:` brings; it is copied. Some of its
functions are broken first, each so that a few tests fail. Then so many of the tests are claimed: those that fail as
fixed, with their function put right again; of the others one half as clean, the other half as improved, with one more
assertion. All wait to be verified at once, as when the agents are quick. `--one-by-one` takes so many of them, spread
evenly, and extrapolates.

With `--daemon` a whole daemon runs twice, on the real mngr, with agents of 2 s on 4 slots: with groups, and with
`verify_group = 1`. What is compared is the time from the last agent's end to the last verdict. `--groups` chooses
the sizes of groups.

A repository with a workspace of its own says how its tests run: `--pytest "ENV/bin/python -m pytest …"` names its
environment, `--env` its variables (PATH, for the programs that its tests start), `--python-path` the folders that an
editable install would name, and `--tests` the files that count. Where its tests take long, `--known` names a file
with what is known to pass, and what fails by which broken line (`bench/broken.py`), so that nothing is run before.
"""

import argparse
import asyncio
import logging
import random
import shlex
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pygit2
import structlog

from bench.broken import ENV, PYTEST, Source, Work, worked_on
from bench.jobs import Run
from bench.verify import one_by_one, together
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.private_tmux import leave_the_users_tmux
from supervisor.model.batch import Batch
from supervisor.model.event import JobEnded, VerifyStarted, WorkCollected, WorkPutBack, WorkVerified
from supervisor.model.node import file_of
from supervisor.model.profile import Profile
from supervisor.rehearsal.demo import ground
from tests.agent_clone import commit, git
from tests.verification.generated import Claim, Generated

AGENT = Path(__file__).with_name("real_agent")
SLOTS, WORK_SECONDS = 4, 2.0
#: of the folder that is measured
LEFT_OUT = (".git", "__pycache__", ".venv", ".test_output", "*.whl")


async def claimed(source: Source, work: list[Work], base: str, folder: Path) -> Generated:
    store = GitStore(folder / "state")
    await store.snapshot(source.folder, base, "b")
    bare = pygit2.Repository(str(store.bare(source.folder)))
    found = [each.committed(bare, base, number) for number, each in enumerate(work, 1)]
    batch = Batch("b", 1, str(source.folder), base, tuple(each.test for each in work), source.profile(), 0.0)
    claims = [Claim(number, each.said, 0, number) for number, each in enumerate(work, 1)]
    return Generated(source.folder, batch, claims, found)


@dataclass(kw_only=True)
class Whole(Run):
    """A whole batch on a daemon."""

    code: Source
    #: what each agent leaves behind
    left: list[Work]
    group: int

    async def source(self) -> tuple[Path, tuple[str, ...]]:
        for each in self.left:
            each.lay_out(self.folder / "work")
        return self.code.folder, tuple(each.test for each in self.left)

    @property
    def profile(self) -> Profile:
        agent = {"agent": "command", "command": (str(AGENT),), "integrator": False, "verify_group": self.group}
        profile = self.code.profile(**agent)
        more = {"BENCH_WORK": str(self.folder / "work"), "BENCH_WORK_SECONDS": f"{self.work:g}"}
        return replace(profile, env={**profile.env, **more})

    @property
    def collected(self) -> float:
        """The last agent's end."""
        return max(event.at for event in self.events if isinstance(event, WorkCollected))

    def groups(self) -> str:
        """When each began and when it was done, in seconds from the last agent's end, and its claims."""
        last = self.collected
        began: defaultdict[tuple[float, int], set[int]] = defaultdict(set)
        for event in self.events:
            if isinstance(event, VerifyStarted):
                began[event.at, event.beside or event.job].add(event.job)
        ended = {event.job: event.at for event in self.events if isinstance(event, WorkVerified | WorkPutBack)}
        return ", ".join(
            f"{len(jobs)} from {at - last:.0f} to {max(ended[job] for job in jobs) - last:.0f}"
            for (at, _), jobs in began.items()
        )

    def waited(self) -> tuple[float, float, Counter[str]]:
        """Seconds until the last agent's end, from there to the last verdict, and the verdicts."""
        first = min(event.at for event in self.events)
        ended = max(event.at for event in self.events if isinstance(event, JobEnded))
        verdicts = Counter(str(event.verification) for event in self.events if isinstance(event, WorkVerified))
        return self.collected - first, max(0.0, ended - self.collected), verdicts


async def by_daemons(source: Source, work: list[Work], folder: Path, groups: Sequence[int]) -> None:
    seconds = []
    for group in groups:
        run = Whole(folder / f"of-{group}", len(work), SLOTS, WORK_SECONDS, 2, code=source, left=work, group=group)
        await run.go()
        agents, waited, verdicts = run.waited()
        seconds.append(waited)
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        print(f"  verify_group {group:>2}: agents {agents:.0f} s, then {waited:.0f} s to the last verdict ({told})")
        print(f"    groups: {run.groups()}")
        sys.stdout.flush()
    if len(seconds) > 1:
        print(f"  that is {seconds[0] / seconds[-1]:.2f} of one by one", flush=True)


def source_of(asked: argparse.Namespace, folder: Path) -> Source:
    return Source(
        folder,
        asked.package,
        tuple(asked.tests),
        tuple(shlex.split(asked.pytest)),
        {**ENV, **dict(each.split("=", 1) for each in asked.env)},
        tuple(asked.python_path),
        asked.test_seconds,
        asked.all_seconds,
        tuple(asked.read),
    )


async def measured(asked: argparse.Namespace, folder: Path) -> None:
    source = source_of(asked, folder / "repo")
    shutil.copytree(asked.folder, source.folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    work = worked_on(source, asked.jobs, random.Random(asked.seed), asked.known)
    git(source.folder, "init", "-q", "-b", "main")
    base = commit(source.folder, "base")
    if asked.daemon:
        made_of = ", ".join(f"{count} {said}" for said, count in Counter(each.said for each in work).items())
        print(f"{len(work)} jobs in {len({file_of(each.test) for each in work})} files: {made_of}", flush=True)
        await by_daemons(source, work, folder, asked.groups)
        return
    await compared(await claimed(source, work, base, folder), asked.one_by_one, folder)


async def compared(made: Generated, sample: int, folder: Path) -> None:
    kinds = Counter(claim.kind for claim in made.claims)
    print(f"{len(made.jobs)} claims in {len({file_of(job.test) for job in made.jobs})} files:", end=" ")
    print(", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    cost, verdicts = await together(folder, made)
    alone, others = await one_by_one(folder, made, sample)
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


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--package", default="", help="the folder of its package; default: the only one below src/")
    parser.add_argument("--jobs", type=int, default=52)
    parser.add_argument("--one-by-one", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--daemon", action="store_true")
    parser.add_argument("--groups", type=int, nargs="+", default=[Profile().verify_group, 1])
    parser.add_argument("--tests", nargs="+", default=["tests"])
    parser.add_argument("--known", type=Path)
    parser.add_argument("--pytest", default=shlex.join(PYTEST))
    parser.add_argument("--env", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--python-path", nargs="+", default=[])
    parser.add_argument("--read", nargs="+", default=[])
    parser.add_argument("--test-seconds", type=float, default=60)
    parser.add_argument("--all-seconds", type=float, default=90)
    return parser


def main() -> int:
    asked = options().parse_args()
    if not asked.package:
        [package] = (each for each in (asked.folder / "src").iterdir() if (each / "__init__.py").exists())
        asked.package = str(package.relative_to(asked.folder))
    leave_the_users_tmux()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    # Not under TMPDIR: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="sv-real-", dir=ground()) as folder:
        asyncio.run(measured(asked, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
