"""`supervisorctl tutorial fill` and `sync`: agents write what a tutorial and its tests lack, and users decide what to
keep. A user's files change only through these commands, with --accept or --reject."""

import contextlib
import difflib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from supervisor.cli import ids, session, waiting
from supervisor.cli.arguments import with_common_options
from supervisor.cli.printing import clean
from supervisor.cli.session import Session
from supervisor.cli.submitting import SUBMIT_SECONDS
from supervisor.cli.tutorial_taking import take
from supervisor.control.client import Answered, Client, quoted
from supervisor.e2e.tutorial.blocks import parse
from supervisor.e2e.tutorial.check import check
from supervisor.e2e.tutorial.review import BadReview, Decision, Entry, Review
from supervisor.e2e.tutorial.writing import NotFilled, Task, accepted, one_block, seed_tasks, sync_tasks
from supervisor.errors import NoSuchThing, Refused

VERIFIED = "verified"

Script = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="The tutorial script.")]
ProfileName = Annotated[str, typer.Option(help="The profile that agents work by; see `config show`.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the batch is over; for exit codes see `wait`.")]

type Proposal = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checkout:
    """The repository that a script is in, as the daemon reports it."""

    said: dict[str, Any]
    script: Path

    @property
    def root(self) -> Path:
        return Path(self.said["repo"])

    @property
    def name(self) -> str:
        """The script's path, relative to the root of the repository."""
        return self.within(self.script)

    def within(self, path: Path) -> str:
        real = path.resolve()
        if not real.is_relative_to(self.root):
            raise Refused(f"{path} is not in the repository {self.root}", hint="give paths inside one repository")
        return real.relative_to(self.root).as_posix()


@with_common_options
def fill(
    ctx: typer.Context,
    script: Script,
    seed: Annotated[list[int] | None, typer.Option(metavar="LINE", help="Fill only this seed; repeatable.")] = None,
    profile: ProfileName = "default",
    wait: Wait = False,
    review: Annotated[
        str | None, typer.Option(metavar="BATCH", autocompletion=ids.batches, help="Show the proposed blocks.")
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option(metavar="JOB", autocompletion=ids.jobs, help="Write its block into FILE.")
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option(metavar="JOB", autocompletion=ids.jobs, help="Do not show its block again.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="BATCH", autocompletion=ids.batches, help="Show what confused the writers.")
    ] = None,
) -> None:
    """Let agents fill the seeds of FILE, and decide which blocks to keep. Prints the batch id.

    Example: supervisorctl tutorial fill tutorial.sh
    """
    here = session.of(ctx)
    if accept or reject:
        _decide(here, script, accept or [], reject or [])
    elif review:
        _review(here, script, review)
    elif report:
        _report(here, report)
    else:
        checkout = _look(here.client, script, profile)
        _submit(ctx, checkout, list(_wanted(checkout, script, seed or [])), wait=wait)


@with_common_options
def sync(
    ctx: typer.Context,
    script: Script,
    tests: Annotated[
        Path | None, typer.Option(metavar="DIR", exists=True, file_okay=False, help="The tests that cite FILE.")
    ] = None,
    profile: ProfileName = "default",
    wait: Wait = False,
    accept: Annotated[
        str | None, typer.Option(metavar="BATCH", autocompletion=ids.batches, help="Take its verified tests.")
    ] = None,
) -> None:
    """Let agents update the tests to match FILE: stale citations first, then uncited blocks. Prints the batch id.

    Example: supervisorctl tutorial sync tutorial.sh --tests tests/e2e
    """
    here = session.of(ctx)
    if accept:
        _take(here, script, accept)
        return
    if tests is None:
        raise typer.BadParameter("is needed, to compare them with the script", param_hint="--tests")
    checkout = _look(here.client, script, profile)
    name, folder = checkout.name, checkout.within(tests)
    with contextlib.chdir(checkout.root):  # so that node ids are relative to the root, as pytest reports them
        found = check(Path(name), [Path(folder)], today=datetime.now(UTC).date())
    if found.exit_code == 2:
        hint = f"`supervisorctl tutorial check {script} --tests {tests}` shows where"
        raise Refused("the script or a test can't be parsed", hint=hint)
    if gone := [stale.test.id for stale in found.stale if stale.nearest.staleness != "edited"]:
        here.note(f"left for you to decide, because no block resembles their citation: {', '.join(map(clean, gone))}")
    _submit(ctx, checkout, list(sync_tasks(name, folder, found)), wait=wait)


# --- submitting


def _look(client: Client, script: Path, profile: str) -> Checkout:
    said = client.get("/v1/checkout", repo=str(script.resolve().parent), profile=profile)
    return Checkout(said, script)


def _wanted(checkout: Checkout, script: Path, lines: list[int]) -> Iterator[Task]:
    """The seeds at these lines; without lines, all seeds that have no block awaiting a decision."""
    seeds = parse(script.read_text(encoding="utf-8", errors="replace")).seeds
    if unknown := [line for line in lines if not any(seed.line <= line <= seed.end_line for seed in seeds)]:
        there = ", ".join(str(seed.line) for seed in seeds) or "none"
        raise NoSuchThing(f"there is no seed at line {unknown[0]} of {script}", hint=f"seeds are at: {there}")
    if lines:
        chosen = [seed for seed in seeds if any(seed.line <= line <= seed.end_line for line in lines)]
    else:
        waiting_for_a_word = _review_of(script).undecided_seeds
        chosen = [seed for seed in seeds if seed.text not in waiting_for_a_word]
    return seed_tasks(checkout.name, chosen)


def _submit(ctx: typer.Context, checkout: Checkout, tasks: list[Task], *, wait: bool) -> None:
    here = session.of(ctx)
    if not tasks:
        here.show({"schema_version": 1, "batch": None, "jobs": 0, "changed": False}, "there is nothing to write")
        return
    body = {key: checkout.said[key] for key in ("repo", "base", "profile")}
    body |= {"role": "writer", "tests": [task.item for task in tasks], "tasks": [asdict(task) for task in tasks]}
    answer = here.client.post("/v1/submit", body, timeout=SUBMIT_SECONDS)
    if wait:
        here.note(f"batch {answer['batch']}: {answer['jobs']} jobs")
        waiting.wait(ctx, answer["batch"])
    here.show(answer, answer["batch"])
    here.note(f"{answer['jobs']} jobs; `supervisorctl follow {answer['batch']}` shows their progress")


# --- deciding


def _proposals(client: Client, batch: str) -> Iterator[Proposal]:
    """The proposals of a batch that have been verified so far."""
    for row in client.get(f"/v1/batches/{quoted(batch)}/jobs")["rows"]:
        with contextlib.suppress(NoSuchThing):
            yield _proposal(client, row["id"])


def _proposal(client: Client, job: str) -> Proposal:
    try:
        return client.get(f"/v1/jobs/{quoted(job)}/proposal")
    except Answered as said:
        if said.exit_code == NoSuchThing.exit_code:
            raise NoSuchThing(said.message, hint=said.hint) from None
        raise


def _review(here: Session, script: Path, batch: str) -> None:
    """Show each proposal as a diff, with the output of its commands; each is a draft until the user decides."""
    reviewed, text = _review_of(script), _read(script)
    rows, shown = [], []
    for proposal in _proposals(here.client, batch):
        if proposal["kind"] != "seed" or proposal["verification"] != VERIFIED:
            continue
        reviewed.note(proposal["block"], Entry("drafted", proposal["seed"], proposal["job"]))
        state = reviewed.blocks[proposal["block"]].state
        rows.append({key: proposal[key] for key in ("job", "block", "seed", "text")} | {"state": state})
        rows[-1] |= {"diff": _diff(script, text, proposal), "output": proposal["execution"]["output"]}
        shown += [
            f"{proposal['job']}  {state}  {proposal['block']}",
            rows[-1]["diff"],
            *_quoted(rows[-1]["output"]),
            "",
        ]
    here.show({"schema_version": 1, "rows": rows}, "\n".join(shown) or "there is no verified proposal")
    if any(row["state"] == "drafted" for row in rows):
        here.note(f"`supervisorctl tutorial fill {script} --accept JOB` writes a block into it")


def _diff(script: Path, text: str, proposal: Proposal) -> str:
    try:
        after = accepted(text, proposal["seed"], proposal["text"])
    except NotFilled as problem:
        return f"({problem})"
    lines = difflib.unified_diff(text.split("\n"), after.split("\n"), str(script), str(script), lineterm="")
    return "\n".join(map(clean, lines))


def _quoted(output: str) -> Iterator[str]:
    return (f"    {clean(line)}" for line in output.rstrip("\n").split("\n"))


def _decide(here: Session, script: Path, accept: Iterable[str], reject: Iterable[str]) -> None:
    """Apply all decisions or none: check every one before writing."""
    reviewed, text = _review_of(script), _read(script)
    decided: list[tuple[str, Entry]] = []
    meant: list[tuple[Decision, str]] = [("accepted", job) for job in accept]
    meant += [("rejected", job) for job in reject]
    for decision, job in meant:
        proposal = _proposal(here.client, job)
        if proposal["kind"] != "seed" or not proposal["block"]:
            raise Refused(
                f"{job} has not filled a seed", hint="see `--review BATCH`; for tests use `sync --accept BATCH`"
            )
        entry = Entry(decision, proposal["seed"], proposal["job"])
        decided.append((proposal["block"], entry))
        if decision == "accepted" and reviewed.blocks.get(proposal["block"]) != entry:
            text = _with_block(text, proposal)
    changed = [reviewed.note(block, entry) for block, entry in decided]
    if text != _read(script):
        _write(script, text)
    blocks = [{"block": block, "state": entry.state, "job": entry.job} for block, entry in decided]
    said = "\n".join(f"{each['job']}  {each['state']}  {each['block']}" for each in blocks)
    here.show({"schema_version": 1, "changed": any(changed), "rows": blocks}, said)


def _read(script: Path) -> str:
    return script.read_text(encoding="utf-8", errors="surrogateescape")


def _write(script: Path, text: str) -> None:
    """Keeps the file's line endings and bytes that are not UTF-8."""
    ends = "\r\n" if b"\r\n" in script.read_bytes() else "\n"
    script.write_text(text, encoding="utf-8", errors="surrogateescape", newline=ends)


def _with_block(text: str, proposal: Proposal) -> str:
    if proposal["verification"] != VERIFIED:
        raise Refused(f"{proposal['job']} was not verified: {proposal['reason']}", hint="see `--report BATCH`")
    try:
        if one_block(proposal["text"]).id != proposal["block"]:
            raise NotFilled("its block differs from the one that was executed")
        return accepted(text, proposal["seed"], proposal["text"])
    except NotFilled as problem:
        raise Refused(f"{proposal['job']} can't be accepted: {problem}", hint="fill the seed again") from None


def _report(here: Session, batch: str) -> None:
    """Report problems of the tool's interface: what confused writers, and commands they thought right that failed."""
    rows: list[dict[str, Any]] = []
    for proposal in _proposals(here.client, batch):
        head = {key: proposal[key] for key in ("job", "item", "verification", "reason")}
        rows += [head | {"command": each["command"], "why": each["why"]} for each in proposal["confusions"]]
        execution = proposal["execution"]
        if execution and execution["exit_code"] != 0:
            last = (execution["output"].strip().splitlines() or [""])[-1]
            rows.append(head | {"command": execution["failed"], "why": f"{proposal['reason']}: {last}"})
    lines = [f"{row['job']}  `{clean(row['command'])}`: {clean(row['why'])}" for row in rows]
    here.show({"schema_version": 1, "rows": rows}, "\n".join(lines) or "nothing confused the writers")


def _take(here: Session, script: Path, batch: str) -> None:
    proposals = [each for each in _proposals(here.client, batch) if each["kind"] != "seed"]
    if not proposals:
        raise Refused(f"batch {batch} has no tests to take", hint="wait for it; for seeds use `fill --accept JOB`")
    data = take(script.resolve().parent, [each for each in proposals if each["verification"] == VERIFIED])
    left = [{"job": each["job"], "why": each["reason"]} for each in proposals if each["verification"] != VERIFIED]
    data["left"] += left
    lines = [*(f"{job}  taken" for job in data["taken"])]
    lines += [f"{each['job']}  left: {clean(each['why'])}" for each in data["left"]]
    here.show({"schema_version": 1, **data}, "\n".join(lines))
    raise typer.Exit(1 if data["left"] else 0)


def _review_of(script: Path) -> Review:
    try:
        return Review.of(script)
    except BadReview as problem:
        raise Refused(str(problem), hint="repair it or restore it from git") from None
