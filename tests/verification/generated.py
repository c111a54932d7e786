"""A repository with many tests, and claims on them of which the truth is known.

The tool has a module for each file of tests and a function for each test. Every fourth test runs the tool, the others
call their function. Each claim is of one kind:

    fixed       its function was wrong, and is right now
    improved    its test checks more than it did
    false       its function is still wrong
    flaky       its function is right now and then
    masked      its function is right only where a neighbour has mended what both use
    mends       that neighbour
    breaks      its function is right now, and another test of its file fails
"""

import random
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from supervisor.adapters.git.store import GitStore
from supervisor.model.batch import Batch
from supervisor.model.job import Brought, Job
from supervisor.model.profile import Profile
from tests.agent_clone import commit, git

AUTHOR = pygit2.Signature("t", "t@t.invalid", 1700000000, 0)
PROFILE = Profile(
    pytest=(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
    env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    test_timeout_seconds=20,
)
#: the verification that each kind deserves
TRUTH: Mapping[str, tuple[str, ...]] = {
    "fixed": ("verified",),
    "improved": ("verified",),
    "mends": ("verified",),
    "false": ("unverified",),
    "masked": ("unverified",),
    "breaks": ("unverified",),
    "flaky": ("flaky", "unverified", "refused"),
}
BAD = ("false", "flaky", "masked", "breaks")

MAIN = """import importlib
import sys

if __name__ == "__main__":
    module, function, number = sys.argv[1:]
    print(getattr(importlib.import_module(f"tool.{module}"), function)(int(number)))
"""
SHARED = """def helper_{n}(number):
    return number{wrong}
"""
BY_CALL = """

def test_{t}():
    result = part_{f}.f_{t}({argument})
    assert result is not None{more}
    assert {check}
"""
BY_RUN = """

def test_{t}():
    done = subprocess.run(
        [sys.executable, "-m", "tool", "part_{f}", "f_{t}", "{argument}"], capture_output=True, text=True, check=True
    )
    result = int(done.stdout)
    assert result is not None{more}
    assert {check}
"""


@dataclass(frozen=True)
class Claim:
    number: int
    kind: str
    file: int
    test: int
    #: its test runs the tool; None: every fourth does
    is_run: bool | None = None

    @property
    def runs_the_tool(self) -> bool:
        return self.number % 4 == 0 if self.is_run is None else self.is_run

    @property
    def node(self) -> str:
        return f"tests/test_{self.file}.py::test_{self.test}"


@dataclass
class Generated:
    repo: Path
    batch: Batch
    claims: list[Claim]
    jobs: list[Job]


def plan(count: int, files: int, seed: int, bad: float = 0.1) -> list[Claim]:
    """Kinds by chance; a masked one comes with the neighbour that masks it, in another file."""
    chance = random.Random(seed)
    kinds: list[str] = []
    while len(kinds) < count:
        if chance.random() < bad:
            kind = chance.choice(BAD if len(kinds) + 2 <= count else BAD[:2])
            kinds += [kind, "mends"] if kind == "masked" else [kind]
        else:
            kinds.append(chance.choice(("fixed", "improved")))
    return [Claim(number, kind, number % files, number) for number, kind in enumerate(kinds, 1)]


def _function(claim: Claim, kind: str) -> str:
    """As it is with work of this kind; "base": without."""
    head = f"def f_{claim.test}(number):\n"
    if claim.kind in ("masked", "mends"):
        partner = claim.test if claim.kind == "masked" else claim.test - 1
        note = "    # looked at\n" if kind == "masked" else ""
        return f"{head}{note}    return shared.helper_{partner}(number) * 2\n"
    right, wrong = "    return number * 2\n", "    return number * 2 + 1\n"
    match kind:
        case "fixed" | "improved":
            return head + right
        case "breaks":
            return f"{head}{right}\n\ndef other(number):\n    return number + 1\n"
        case "false":
            return f"{head}    number = int(number)\n{wrong}"
        case "flaky":
            return f"{head}    return number * 2 + (random.random() > 0.1)\n"
        case _:
            return head + (right if claim.kind == "improved" else wrong)


def files_of(claims: list[Claim], files: int, done: Claim | None = None, *, main: str = MAIN) -> dict[str, str]:
    """All files, with the work of one claim, or none."""
    made = {"tool/__init__.py": "", "tool/__main__.py": main, ".gitignore": "__pycache__/\n"}
    made["pyproject.toml"] = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["."]\n'
    shared = ""
    for claim in claims:
        if claim.kind == "masked":
            is_mended = done is not None and done.kind == "mends" and done.test == claim.test + 1
            shared += SHARED.format(n=claim.test, wrong="" if is_mended else " + 1") + "\n\n"
    made["tool/shared.py"] = shared.rstrip("\n") + "\n" if shared else ""
    for file in range(files):
        inside = [claim for claim in claims if claim.file == file]
        code = "import random  # noqa: F401\n\nfrom tool import shared  # noqa: F401\n\n\n"
        parts = [_function(claim, claim.kind if claim == done else "base") for claim in inside]
        if not (done is not None and done.kind == "breaks" and done.file == file):
            parts.append("def other(number):\n    return number\n")
        made[f"tool/part_{file}.py"] = code + "\n\n".join(parts)
        tests = f"import subprocess\nimport sys\n\nfrom tool import part_{file}\n"
        for claim in inside:
            template = BY_RUN if claim.runs_the_tool else BY_CALL
            is_improved = claim == done and claim.kind == "improved"
            check = "result == 6" if claim.kind != "improved" or is_improved else "result > 0"
            more = "\n    assert isinstance(result, int)" if is_improved else ""
            tests += template.format(t=claim.test, f=file, argument=3, check=check, more=more)
        tests += f"\n\ndef test_other():\n    assert part_{file}.other(1) == 1\n"
        made[f"tests/test_{file}.py"] = tests
    return made


async def generate(
    folder: Path,
    claims: list[Claim],
    files: int,
    *,
    profile: Profile = PROFILE,
    main: str = MAIN,
    without: Collection[str] = (),
) -> Generated:
    """The repository, without some files, and in the daemon's store what an agent committed for each claim."""
    repo, store = folder / "repo", GitStore(folder / "state")
    repo.mkdir(parents=True)
    git(repo, "init", "-q", "-b", "main")
    for path, text in files_of(claims, files, main=main).items():
        if path in without:
            continue
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    base = commit(repo, "base")
    await store.snapshot(repo, base, "b")
    bare = pygit2.Repository(str(store.bare(repo)))
    jobs = [_job(bare, base, claims, files, claim) for claim in claims]
    tests = tuple(claim.node for claim in claims)
    batch = Batch("b", 1, str(repo), base, tests, profile, 0.0)
    return Generated(repo, batch, claims, jobs)


def _job(bare: pygit2.Repository, base: str, claims: list[Claim], files: int, claim: Claim) -> Job:
    before, after = files_of(claims, files), files_of(claims, files, claim)
    changed = {path: text for path, text in after.items() if before.get(path) != text}
    index = pygit2.Index()
    index.read_tree(bare[base].peel(pygit2.Tree))
    for path, text in changed.items():
        blob = bare.create_blob(text.encode())
        index.add(pygit2.IndexEntry(path, blob, pygit2.enums.FileMode.BLOB))
    kind = "IMPROVE_TEST" if claim.kind == "improved" else "FIX_IMPL"
    tree, parent = index.write_tree(bare), bare[base].id
    head = bare.create_commit(
        f"refs/supervisor/b/{claim.number}/1", AUTHOR, AUTHOR, f"[{kind}] {claim.kind}", tree, [parent]
    )
    said = "improved" if claim.kind == "improved" else "fixed"
    brought = Brought(said, str(head), 1)
    return Job(claim.number, claim.node, brought=brought, detail="", attempts=1)
