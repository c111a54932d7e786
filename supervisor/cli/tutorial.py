"""`supervisorctl tutorial`: a tutorial's blocks, and the check that they and the tests cite each other. No daemon."""

import json
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from supervisor.cli import session
from supervisor.cli.arguments import with_common_options
from supervisor.cli.tutorial_command import install_command
from supervisor.cli.tutorial_view import view
from supervisor.cli.tutorial_writing import fill, sync

if TYPE_CHECKING:
    from supervisor.e2e.tutorial.check import Report

app = typer.Typer(
    name="tutorial",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
@with_common_options
def tutorial() -> None:
    """A tutorial script and the tests that prove it."""


app.command()(view)
app.command()(fill)
app.command()(sync)
app.command()(install_command)

Script = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="The tutorial script.")]


class Annotations(StrEnum):
    GITHUB = "github"


@app.command()
@with_common_options
def blocks(ctx: typer.Context, script: Script) -> None:
    """List the blocks of a script: lines, section, id; and its seeds. Exits 2 where it can't be read as meant.

    Example: supervisorctl tutorial blocks tutorial.sh
    """
    from supervisor.e2e.tutorial import blocks as reading
    from supervisor.e2e.tutorial import report as reports

    read = reading.parse(script.read_text(encoding="utf-8", errors="replace"))
    as_json = session.of(ctx).json
    _print_json(reports.blocks_json(script.as_posix(), read)) if as_json else print(reports.blocks_text(read))
    raise typer.Exit(2 if read.problems else 0)


@app.command()
@with_common_options
def check(
    ctx: typer.Context,
    script: Script,
    tests: Annotated[list[Path], typer.Option(metavar="DIR", exists=True, help="Tests that cite it; repeatable.")],
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML there.")] = None,
    annotations: Annotated[Annotations | None, typer.Option(help="Print CI annotations too.")] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="FILE", help="Gaps that are allowed for now.")] = None,
    update_baseline: Annotated[bool, typer.Option(help="Drop from the baseline what is no gap any more.")] = False,
    fix: Annotated[bool, typer.Option(help="Rewrite citations of edited blocks, and show the diff.")] = False,
) -> None:
    """Check both ways: every block is cited by a test, every test cites a block, no citation is stale.

    Exits 0 if so, 1 on gaps, 2 where something can't be read.

    Example: supervisorctl tutorial check tutorial.sh --tests tests/e2e
    """
    from supervisor.e2e.tutorial import check as checks
    from supervisor.e2e.tutorial import report as reports

    if update_baseline and baseline is None:
        raise typer.BadParameter("needs --baseline FILE", param_hint="--update-baseline")
    as_json, now = session.of(ctx).json, datetime.now(UTC)
    report = checks.check(script, tests, today=now.date())
    if fix and _fix(report):
        report = checks.check(script, tests, today=now.date())
    if baseline is not None:
        report = _with_baseline(report, baseline, update=update_baseline)
    _write_outlets(report, junit, annotations if not as_json else None)
    _print_json(reports.as_json(report, now=now)) if as_json else print(reports.as_text(report))
    raise typer.Exit(report.exit_code)


def _fix(report: "Report") -> bool:
    from supervisor.e2e.tutorial.fix import fixes

    found = list(fixes(report))
    for each in found:
        print(each.diff, file=sys.stderr)
        each.write()
    return bool(found)


def _with_baseline(report: "Report", path: Path, *, update: bool) -> "Report":
    """The report under a baseline; a missing file is created by its first update, and from then on only shrinks."""
    from supervisor.e2e.tutorial import baseline

    try:
        allowed = baseline.load(path)
    except baseline.BadBaseline as problem:
        raise typer.BadParameter(str(problem), param_hint="--baseline") from problem
    if update:
        gaps = baseline.gaps(report)
        allowed = baseline.shrunk(allowed, gaps) if path.exists() else gaps
        baseline.save(path, allowed)
        if refused := len(gaps.blocks - allowed.blocks) + len(gaps.tests - allowed.tests):
            print(f"{refused} new gaps are not added to {path}: a baseline only shrinks.", file=sys.stderr)
    return report.allowing(allowed)


def _write_outlets(report: "Report", junit: Path | None, annotations: Annotations | None) -> None:
    from supervisor.e2e.tutorial.outlets import as_annotations, as_junit

    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        junit.write_text(as_junit(report), encoding="utf-8")
    if annotations is Annotations.GITHUB and (lines := as_annotations(report)):
        print(lines)


def _print_json(data: object) -> None:
    print(json.dumps(data, ensure_ascii=False))
