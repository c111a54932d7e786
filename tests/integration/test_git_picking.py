"""The mechanical pass: its results and conflicts are git's own, its commits the same to the byte."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from supervisor.integration.branches.picking import Integrated, integrate
from supervisor.integration.branches.remaking import read_branch, remade
from supervisor.integration.rules.checking import dropped, placed, shape
from supervisor.integration.rules.messages import trailers_in
from supervisor.integration.rules.work import Evidence, Work
from supervisor.model.ledger import Fate
from supervisor.publication.changes import kind_and_subject, read_changes
from tests.agent_clone import commit, git
from tests.properties import examples

type Files = dict[str, bytes]


def commit_files(repo: pygit2.Repository, files: Files, parents: list[str], message: str) -> str:
    index = pygit2.Index()
    for path, content in files.items():
        index.add(pygit2.IndexEntry(path, repo.create_blob(content), pygit2.enums.FileMode.BLOB))
    who = pygit2.Signature("t", "t@t.invalid", 1_700_000_000, 0)
    tree = index.write_tree(repo)
    return str(repo.create_commit(None, who, who, message, tree, [repo[parent].id for parent in parents]))


def is_possible(files: Files) -> bool:
    """No path is a file and a folder at once."""
    return not any(other.startswith(f"{path}/") for path in files for other in files)


lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"}\n", b"\n", b"\tx\n"]), min_size=1, max_size=12)
bodies = lines.map(b"".join)
paths = st.sampled_from(["one", "two", "dir/one", "dir/two", "dir", "dir/one/deep"])
trees = st.dictionaries(paths, bodies, min_size=1, max_size=4).filter(is_possible)


@st.composite
def edits(draw: st.DrawFn, base: Files) -> Files:
    """The base after one to three edits: of lines, or of whole files."""
    files = dict(base)
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["lines", "lines", "lines", "add", "remove", "move"]))
        path = draw(st.sampled_from(sorted(files))) if files else ""
        if kind == "add" or not files:
            files[draw(paths)] = draw(bodies)
        elif kind == "remove":
            del files[path]
        elif kind == "move":
            files[draw(paths)] = files.pop(path)
        else:
            text = files[path].splitlines(keepends=True)
            at = draw(st.integers(0, len(text)))
            text[at : at + draw(st.integers(0, 2))] = draw(lines)[:3]
            files[path] = b"".join(text)
    return files if is_possible(files) else base


@st.composite
def stories(draw: st.DrawFn) -> list[Files]:
    base = draw(trees)
    return [base, *(draw(edits(base)) for _ in range(draw(st.integers(1, 5))))]


@contextmanager
def bare_repository() -> Iterator[tuple[Path, pygit2.Repository]]:
    with TemporaryDirectory() as folder:
        yield Path(folder), pygit2.init_repository(str(Path(folder, "bare.git")), bare=True)


def by_git(folder: Path, base: str, shas: list[str]) -> tuple[str, dict[str, set[str]]]:
    """The tree after a plain loop of cherry-picks, and for each conflict its paths."""
    work = folder / "work"
    git(folder, "clone", "-q", "--no-checkout", "bare.git", str(work))
    git(work, "checkout", "-q", "--detach", base)
    conflicts = {}
    for sha in shas:
        try:
            git(work, "cherry-pick", "--allow-empty", "--keep-redundant-commits", sha)
        except AssertionError:
            unmerged = git(work, "ls-files", "-u", "-z").split("\0")
            conflicts[sha] = {entry.partition("\t")[2].partition("~")[0] for entry in unmerged if entry}
            git(work, "reset", "-q", "--hard")
            git(work, "clean", "-fdq")
            git(work, "cherry-pick", "--quit")
    return git(work, "rev-parse", "HEAD^{tree}"), conflicts


@settings(max_examples=examples(1 / 3))
@given(stories())
@example([{"one": b"a\n"}, {"two": b"a\n"}, {}])  # renamed, then removed
def test_results_and_conflicts_are_gits_own(story: list[Files]) -> None:
    base_files, *changed = story
    with bare_repository() as (folder, repo):
        base = commit_files(repo, base_files, [], "base")
        repo.create_reference("refs/heads/base", base)
        shas = [commit_files(repo, files, [base], f"[DOC] {number}") for number, files in enumerate(changed)]
        for sha in set(shas):
            repo.create_reference(f"refs/heads/{sha}", sha)
        works = [
            Work(number, f"t{number}", read_changes(folder / "bare.git", base, sha, number))
            for number, sha in enumerate(shas)
        ]
        result = integrate(folder / "bare.git", base, "b", works)
        tree, conflicts = by_git(folder, base, [row.change.sha for row in result.changes])
        assert git(folder / "bare.git", "rev-parse", f"{result.head}^{{tree}}") == tree
        assert {row.change.sha for row in result.conflicts} == set(conflicts)
        for row in result.conflicts:
            said = row.detail.removeprefix("conflicts in ").rpartition(" with ")[0].split(", ")
            assert {path.partition("~")[0] for path in said} == conflicts[row.change.sha]
        assert len(result.changes) == sum(len(work.changes) for work in works)
        assert set(result.jobs) == set(range(len(shas)))


# ---- one story, in full ------------------------------------------------------------------------------------------


class Agents:
    """A repository, and branches of commits from its base."""

    def __init__(self, home: Path) -> None:
        self.work = home / "work"
        self.work.mkdir()
        git(self.work, "init", "-q", "-b", "base")
        text = "".join(f"line {number}\n" for number in range(20))
        self.base = commit(self.work, "base", app__py=text, test_app__py=text, conftest__py=text)
        self.works: list[Work] = []

    def job(self, *commits: tuple[str, dict[str, str]], **more: object) -> None:
        """A job with these commits: a subject, and for each file `line → new line`."""
        git(self.work, "checkout", "-q", "--detach", self.base)
        for subject, edits in commits:
            for name, edit in edits.items():
                path = self.work / name
                old, new = edit.split(" → ")
                path.write_text(path.read_text().replace(f"{old}\n", f"{new}\n"))
            commit(self.work, subject)
        number = len(self.works) + 1
        changes = read_changes(self.work, self.base, git(self.work, "rev-parse", "HEAD"), number)
        self.works.append(Work(number, f"test_app.py::test_{number}", changes, **more))  # type: ignore[arg-type]

    def integrated(self) -> Integrated:
        return integrate(self.work, self.base, "b1", self.works)


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    agents = Agents(tmp_path)
    fix = ("[FIX_IMPL] count from one", {"app.py": "line 3 → three"})
    agents.job(("[FIX_TEST] wait", {"test_app.py": "line 1 → one"}), fix, summaries={"FIX_TEST": "It was racy."})
    agents.job(("[FIX_IMPL] greet", {"app.py": "line 15 → fifteen"}), evidence=Evidence(True, 2, 2))
    agents.job(fix, summaries={"FIX_IMPL": "Counting began at zero."}, evidence=Evidence(True, 2, 2))
    agents.job(("[FIX_IMPL] count from two", {"app.py": "line 3 → zwei"}))
    agents.job(("[IMPROVE_TEST] sharper", {"test_app.py": "line 10 → ten", "conftest.py": "line 1 → one"}))
    agents.job(("[DOC] part of it", {"conftest.py": "line 1 → one"}))
    agents.job(("[FIX_TEST] lie", {"test_app.py": "line 19 → skip"}), rejected="unverified: its test fails")
    agents.job()
    agents.job(("[DOC] nothing", {}))
    agents.job(("tidied", {"conftest.py": "line 18 → tidy"}))
    return agents


def test_one_commit_for_tests_and_one_for_each_fix(agents: Agents) -> None:
    result = agents.integrated()
    log = git(agents.work, "log", "--reverse", "--format=%s", f"{agents.base}..{result.head}").splitlines()
    assert log == [
        "[TEST/DOC] 3 changes from 3 jobs",
        "[FIX_IMPL] count from one",
        "[FIX_IMPL] greet",
        "[OTHER] tidied",
    ]
    assert git(agents.work, "show", f"{result.head}:app.py").splitlines()[3] == "three"


def test_the_ledger_has_a_row_for_every_change_and_job(agents: Agents) -> None:
    result = agents.integrated()
    fates = {job: row.fate for job, row in result.jobs.items()}
    assert fates == {
        1: Fate.MERGED,
        2: Fate.MERGED,
        3: Fate.DUPLICATE,
        4: Fate.CONFLICT,
        5: Fate.MERGED,
        6: Fate.DUPLICATE,
        7: Fate.REJECTED,
        8: Fate.EMPTY,
        9: Fate.EMPTY,
        10: Fate.MERGED,
    }
    fix, greet = agents.works[0].changes[1].sha, agents.works[1].changes[0].sha
    assert result.jobs[3].detail == f"the same as {fix} of job 1"
    assert result.jobs[4].detail == f"conflicts in app.py with {fix} of job 1, {greet} of job 2"
    assert result.jobs[7].detail == "unverified: its test fails"


def test_every_qualifying_change_is_named_by_a_trailer(agents: Agents) -> None:
    result = agents.integrated()
    messages = [git(agents.work, "show", "-s", "--format=%B", commit) for commit in result.commits]
    named = [trailers_in(message) for message in messages]
    assert named[0][0] == ("b1.1", "b1.5", "b1.6")
    assert named[1][0] == ("b1.1", "b1.3")
    held = {sha for _, changes in named for sha in changes}
    assert held == {row.change.sha for row in result.changes if row.fate in (Fate.MERGED, Fate.DUPLICATE)}
    assert "- test_app.py::test_1: It was racy." in messages[0]
    assert "- test_app.py::test_3: failed before, passed 2 of 2 runs after" in messages[1]
    for row in result.changes:
        assert bool(row.commit) == (row.fate in (Fate.MERGED, Fate.DUPLICATE))


def test_the_mechanical_branch_is_what_an_integrators_may_be(agents: Agents) -> None:
    result = agents.integrated()
    branch = read_branch(agents.work, agents.base, result.head)
    assert tuple(commit.sha for commit in branch) == result.commits
    machine = {each.sha: each.changes for each in result.landed}
    found, lies = placed("b1", branch, machine, result.aside)
    assert [each.machine for each in found] == list(result.commits)
    assert [*lies, *shape(agents.base, branch)] == []
    assert [each.detail for each in dropped(found, machine, result.aside, {})] == [
        f"the change {agents.works[3].changes[0].sha} is neither resolved nor listed in `failed`"
    ]
    assert remade(agents.work, agents.base, found).objections == []


def test_each_fix_can_be_reverted_alone(agents: Agents) -> None:
    result = agents.integrated()
    for fix in result.commits[1:]:
        git(agents.work, "checkout", "-q", "--detach", result.head)
        git(agents.work, "revert", "--no-edit", fix)


def test_the_same_works_in_any_order_give_the_same_bytes(agents: Agents) -> None:
    first = agents.integrated()
    agents.works.reverse()
    assert agents.integrated() == first


def test_nothing_qualifying_leaves_the_base(tmp_path: Path) -> None:
    agents = Agents(tmp_path)
    agents.job(("[DOC] x", {"app.py": "line 1 → one"}), errored=True)
    result = agents.integrated()
    assert (result.head, result.commits) == (agents.base, ())


def test_equal_patches_differ_by_whitespace_and_by_content_of_binaries(tmp_path: Path) -> None:
    agents = Agents(tmp_path)
    agents.job(("[DOC] a", {"app.py": "line 3 → x"}))
    agents.job(("[DOC] b", {"app.py": "line 3 → x"}))
    agents.job(("[DOC] c", {"app.py": "line 3 →   x"}))
    ids = [work.changes[0].patch_id for work in agents.works]
    for content in (b"\0one", b"\0two"):
        git(agents.work, "checkout", "-q", "--detach", agents.base)
        head = commit(agents.work, "[DOC] binary", picture=content)
        ids.append(read_changes(agents.work, agents.base, head, 9)[0].patch_id)
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4


@pytest.mark.parametrize(
    ("message", "kind", "subject"),
    [
        ("[FIX_TEST] wait\n\nbody", "FIX_TEST", "wait"),
        ("no kind", "", "no kind"),
        ("", "", ""),
        ("[FIX_IMPL]\x1b[31m red", "FIX_IMPL", "red"),
        ("[fix] lower", "", "[fix] lower"),
    ],
)
def test_reads_the_kind_of_a_subject(message: str, kind: str, subject: str) -> None:
    assert kind_and_subject(message) == (kind, subject)
