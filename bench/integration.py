"""Integration of 300 branches in a repository of 5,000 files, beside a plain loop of `git cherry-pick`.

60 branches touch the same three files (so some conflict), 40 make an identical change, 200 a file of their own.
Both get the same commits in the same order, and must end with the same tree and the same conflicts. CPU time is shown
next to wall-clock time, because it is reliable on a busy machine.
"""

import os
import resource
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2
from pygit2.enums import FileMode

from supervisor.adapters.git.trees import Entry, edited, entry_at
from supervisor.integration.branches.picking import Integrated, integrate
from supervisor.integration.rules.work import Work
from supervisor.model.ledger import Fate
from supervisor.publication.changes import read_changes

FILES, SAME_FILES, IDENTICAL, OWN = 5_000, 60, 40, 200
TARGET = 0.4


@dataclass
class Repository:
    repo: pygit2.Repository
    base: str

    @classmethod
    def make(cls, path: Path) -> "Repository":
        repo = pygit2.init_repository(str(path), bare=True)
        empty = repo[repo.TreeBuilder().write()]
        assert isinstance(empty, pygit2.Tree)
        files = {f"pkg{n % 50}/mod{n}.py": Entry(repo.create_blob(text(n)), FileMode.BLOB) for n in range(FILES)}
        made = cls(repo, "")
        made.base = made.commit(edited(repo, empty, files), "base", [])
        repo.create_reference("refs/heads/base", made.base)
        return made

    def commit(self, tree: pygit2.Tree, message: str, parents: list[str]) -> str:
        who = pygit2.Signature("bench", "bench@localhost.invalid", 1_700_000_000, 0)
        return str(self.repo.create_commit(None, who, who, message, tree.id, [self.repo[p].id for p in parents]))

    def branch(self, number: int, subject: str, lines: dict[str, int]) -> str:
        """A commit on the base that changes one line in each of these files."""
        base = self.repo[self.base]
        assert isinstance(base, pygit2.Commit)
        edits: dict[str, Entry | None] = {}
        for path, line in lines.items():
            entry = entry_at(base.tree, path)
            assert entry is not None
            split = self.repo[entry.id].read_raw().splitlines(keepends=True)
            split[line] = f"changed = {subject!r}\n".encode()
            edits[path] = Entry(self.repo.create_blob(b"".join(split)), FileMode.BLOB)
        sha = self.commit(edited(self.repo, base.tree, edits), subject, [self.base])
        self.repo.create_reference(f"refs/heads/b{number}", sha)
        return sha


def text(number: int) -> bytes:
    return b"".join(b"value_%d_%d = %d\n" % (number, line, line) for line in range(200))


def branches(made: Repository) -> list[str]:
    shared = [f"pkg{n}/mod{n}.py" for n in range(3)]
    shas: list[str] = []
    for n in range(SAME_FILES):  # lines 3 apart, every tenth pair on the same one
        line = 3 * (n - 1 if n % 10 == 9 else n)
        shas.append(made.branch(len(shas), f"[FIX_IMPL] shared {n}", dict.fromkeys(shared, line)))
    for _ in range(IDENTICAL):
        shas.append(made.branch(len(shas), "[FIX_TEST] the same", {"pkg7/mod7.py": 100}))
    for n in range(OWN):
        shas.append(made.branch(len(shas), f"[IMPROVE_TEST] own {n}", {f"pkg{n % 50}/mod{n + 500}.py": 10}))
    return shas


@dataclass(frozen=True, slots=True)
class Taken:
    """Wall-clock and CPU seconds since an arbitrary start, including children."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> "Taken":
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used))

    def __sub__(self, start: "Taken") -> "Taken":
        return Taken(self.clock - start.clock, self.processor - start.processor)


def ours(bare: Path, base: str, shas: list[str]) -> tuple[Integrated, Taken]:
    start = Taken.now()
    works = [Work(n, f"test_{n}", read_changes(bare, base, sha, n)) for n, sha in enumerate(shas, 1)]
    result = integrate(bare, base, "bench", works)
    return result, Taken.now() - start


def by_loop(work: Path, shas: list[str]) -> tuple[str, set[str], Taken]:
    """The tree, the conflicts, and the time. An empty pick is skipped, as a person would do."""
    start, conflicts = Taken.now(), set()
    for sha in shas:
        if git(work, "cherry-pick", sha).returncode:
            if git(work, "ls-files", "-u").stdout:
                conflicts.add(sha)
            git(work, "cherry-pick", "--skip")
    taken = Taken.now() - start
    return git(work, "rev-parse", "HEAD^{tree}").stdout.strip(), conflicts, taken


def git(where: Path, *args: str) -> subprocess.CompletedProcess[str]:
    names = {f"GIT_{who}_{what}": "b@b.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = os.environ | names | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *args], cwd=where, env=env, capture_output=True, text=True, check=False)


def main() -> None:
    with TemporaryDirectory() as folder:
        bare, work = Path(folder, "bare.git"), Path(folder, "work")
        made = Repository.make(bare)
        shas = branches(made)
        git(bare, "repack", "-adq")
        git(Path(folder), "clone", "-q", "--branch", "base", "bare.git", str(work))
        result, our_time = ours(bare, made.base, shas)
        # The loop picks in our order: tests first, then fixes by rank.
        fixes = [row.change.sha for row in result.changes if not row.change.is_test]
        order = [sha for sha in shas if sha not in set(fixes)] + fixes
        tree, conflicts, loop_time = by_loop(work, order)
        assert git(bare, "rev-parse", f"{result.head}^{{tree}}").stdout.strip() == tree
        assert {row.change.sha for row in result.conflicts} == conflicts
        fates = {fate.value: sum(row.fate is fate for row in result.changes) for fate in Fate}
        print(f"integration: {len(shas)} branches, {FILES} files: {fates}")
        for name in ("clock", "processor"):
            one, other = getattr(our_time, name), getattr(loop_time, name)
            said = f"ours {one:.2f} s, git cherry-pick loop {other:.2f} s: {one / other:.3f} of it (target {TARGET})"
            print(f"  {name}: {said}")


if __name__ == "__main__":
    main()
