"""What the ledger calls merged is in the branch by content, or said to have given way: random batches, git judges."""

from dataclasses import replace
from pathlib import Path

import pygit2
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from supervisor.integration.branches.picking import Integrated, integrate
from supervisor.integration.rules.messages import trailers_in
from supervisor.integration.rules.work import Work
from supervisor.model.ledger import ON_BRANCH, Fate
from supervisor.publication.changes import read_changes
from tests.agent_clone import git
from tests.integration.test_git_picking import Files, bare_repository, commit_files
from tests.properties import examples

#: the same lines at several places, so that the same hunk can stand at two
BLOCK = [b"def f():\n", b"    x = 1\n", b"    return x\n", b"\n", b"\n"]
type Commits = list[tuple[str, Files]]


def source(blocks: int) -> bytes:
    return b"".join(BLOCK * blocks)


BASE: Files = {"app": source(4), "lib/app": source(3), "test_app": source(3), "notes": b"one\ntwo\nthree\n"}
words = st.sampled_from([b"    x = 2\n", b"    x = 3\n", b"    y = 1\n", b"    return x\n"])


@st.composite
def edited(draw: st.DrawFn, files: Files) -> Files:
    """The files after one edit: of a line in one of the blocks, of a whole file, or of a file's name."""
    files, path = dict(files), draw(st.sampled_from(sorted(files)))
    match draw(st.sampled_from(["line", "line", "line", "line", "insert", "rename", "add", "remove"])):
        case "line":
            text = files[path].splitlines(keepends=True) or [b""]
            text[draw(st.integers(0, len(text) - 1))] = draw(words)
            files[path] = b"".join(text)
        case "insert":
            text = files[path].splitlines(keepends=True)
            text.insert(draw(st.integers(0, len(text))), draw(words))
            files[path] = b"".join(text)
        case "rename":
            files[f"{path}.moved"] = files.pop(path)
        case "add":
            files[draw(st.sampled_from(["new", "test_new"]))] = draw(words)
        case "remove" if len(files) > 2:
            del files[path]
    return files


@st.composite
def jobs(draw: st.DrawFn) -> list[Commits]:
    """Each a few commits, one on the other; some begin as another one did, and go on from there."""
    found: list[Commits] = []
    for _ in range(draw(st.integers(1, 5))):
        commits: Commits = []
        if found and draw(st.sampled_from([True, False])):
            before = draw(st.sampled_from(found))
            commits = before[: draw(st.integers(0, len(before)))]
        for _ in range(draw(st.integers(0 if commits else 1, 3))):
            files = draw(edited(commits[-1][1] if commits else BASE))
            commits = [*commits, (draw(st.sampled_from(["FIX_IMPL", "FIX_IMPL", "FIX_TEST", "DOC"])), files)]
        found.append(commits)
    return found


def at(path: str, place: int, line: bytes, files: Files = BASE) -> Files:
    text = files[path].splitlines(keepends=True)
    text[place] = line
    return {**files, path: b"".join(text)}


ONE = at("app", 6, b"    x = 2\n")
TWO_PLACES: list[Commits] = [[("FIX_IMPL", ONE)], [("FIX_IMPL", at("app", 11, b"    x = 2\n"))]]
REFINED: list[Commits] = [[("FIX_IMPL", ONE)], [("FIX_IMPL", ONE), ("FIX_IMPL", at("app", 6, b"    x = 3\n", ONE))]]
MOVED: list[Commits] = [
    [("FIX_IMPL", {**{path: text for path, text in BASE.items() if path != "app"}, "app.moved": BASE["app"]})],
    [("FIX_IMPL", ONE)],
]
STANDS_ON: list[Commits] = [
    [
        ("FIX_IMPL", ONE),
        ("FIX_TEST", {**ONE, "test_app": b"new\n"}),
        ("FIX_IMPL", {**ONE, "test_app": b"new\n", "n": b""}),
    ],
    [("FIX_IMPL", at("app", 6, b"    y = 1\n")), ("FIX_TEST", {**at("app", 6, b"    y = 1\n"), "notes": b"four\n"})],
]


@settings(max_examples=examples(1 / 3), suppress_health_check=list(HealthCheck))
@given(jobs())
@example(TWO_PLACES)
@example(REFINED)
@example(MOVED)
@example(STANDS_ON)
def test_what_is_called_merged_is_there_or_named(batch: list[Commits]) -> None:
    with bare_repository() as (folder, repo):
        bare = folder / "bare.git"
        base = commit_files(repo, BASE, [], "base")
        works, heads = [], {}
        for number, commits in enumerate(batch, 1):
            head = base
            for place, (kind, files) in enumerate(commits):
                head = commit_files(repo, files, [head], f"[{kind}] {number}.{place}")
            heads[number] = head
            works.append(Work(number, f"t{number}", read_changes(bare, base, head, number)))
        done = integrate(bare, base, "b", works)
        for number, head in heads.items():
            row = done.jobs[number]
            if row.fate in ON_BRANCH and not holds(bare, repo, base, done, head):
                assert row.doubts, f"job {number} is not there, and nothing is said of it"
            elif row.fate in ON_BRANCH:
                assert row.doubts == ()
        check_that_each_job_is_whole(works, done)
        check_its_order(works, done)


def holds(bare: Path, repo: pygit2.Repository, base: str, done: Integrated, head: str) -> bool:
    """Each file is as the job left it; or git's own merge of the job into the branch changes nothing there."""
    paths = git(bare, "diff", "--no-renames", "--name-only", base, head).splitlines()
    if not paths or git(bare, "diff", "--no-renames", "--name-only", done.head, head, "--", *paths) == "":
        return True
    tree = repo[done.head].peel(pygit2.Tree).id
    who = pygit2.Signature("t", "t@t.invalid", 1_700_000_000, 0)
    sides = [
        str(repo.create_commit(None, who, who, "side", each, [repo[base].id]))
        for each in (tree, repo[head].peel(pygit2.Tree).id)
    ]
    try:
        return git(bare, "merge-tree", "--write-tree", *sides) == str(tree)
    except AssertionError:
        return False


def check_that_each_job_is_whole(works: list[Work], done: Integrated) -> None:
    """What was verified together is all on the branch, or nothing of it is."""
    fates = {row.change.key: row.fate for row in done.changes}
    for work in works:
        found = {fates[change.key] for change in work.changes}
        assert found <= {Fate.MERGED, Fate.DUPLICATE, Fate.EMPTY} or found == {Fate.CONFLICT}


def check_its_order(works: list[Work], done: Integrated) -> None:
    """A job's fixes stand one after the other, in the order in which it made them."""
    assert [each.job for each in done.landed if each.job is None] in ([], [None])
    own = {change.key: (work.job, place) for work in works for place, change in enumerate(work.changes)}
    fixes = [own[each.keys[0]] for each in done.landed if each.job is not None]
    by_job = list(dict.fromkeys(job for job, _ in fixes))
    assert fixes == sorted(fixes, key=lambda fix: (by_job.index(fix[0]), fix[1]))


def test_a_commit_that_two_jobs_made_alike_is_told_of_each() -> None:
    """In the same second, with the same words. What became of one of them says nothing of the other."""
    with bare_repository() as (folder, repo):
        bare = folder / "bare.git"
        base = commit_files(repo, BASE, [], "base")
        same = commit_files(repo, {**BASE, "more": b"x = 9\n"}, [base], "[FIX_IMPL] both")
        works = [Work(job, f"t{job}", read_changes(bare, base, same, job)) for job in (1, 2, 3)]
        works[0] = replace(works[0], rejected="flaky: passed 1 of 3")
        done = integrate(bare, base, "b", works)

        assert [row.fate for row in done.jobs.values()] == [Fate.REJECTED, Fate.MERGED, Fate.DUPLICATE]
        assert [row.detail for row in done.jobs.values()] == [
            "flaky: passed 1 of 3",
            "",
            f"the same as {same} of job 2",
        ]
        assert [(row.change.job, row.commit) for row in done.changes] == [(1, ""), (2, done.head), (3, done.head)]
        assert trailers_in(repo[done.head].peel(pygit2.Commit).message) == (("b.2", "b.3"), (same, same))


def test_the_same_hunk_at_two_places_is_two_changes() -> None:
    assert [row.fate for row in integrated(TWO_PLACES).jobs.values()] == [Fate.MERGED, Fate.MERGED]


def test_what_was_refined_is_said_to_have_given_way() -> None:
    done = integrated(REFINED)
    assert [row.fate for row in done.jobs.values()] == [Fate.MERGED, Fate.MERGED]
    [doubt] = done.jobs[1].doubts
    assert "`x = 2` is missing" in doubt
    assert "of job 2" in doubt


def test_what_collides_in_one_commit_stays_away_with_all_that_was_verified_with_it() -> None:
    done = integrated(STANDS_ON)
    assert [row.fate for row in done.jobs.values()] == [Fate.CONFLICT, Fate.MERGED]
    assert {row.fate for row in done.changes if row.change.job == 1} == {Fate.CONFLICT}


def integrated(batch: list[Commits]) -> Integrated:
    with bare_repository() as (folder, repo):
        base, works = commit_files(repo, BASE, [], "base"), []
        for number, commits in enumerate(batch, 1):
            head = base
            for kind, files in commits:
                head = commit_files(repo, files, [head], f"[{kind}] of {number}")
            works.append(Work(number, f"t{number}", read_changes(folder / "bare.git", base, head, number)))
        return integrate(folder / "bare.git", base, "b", works)
