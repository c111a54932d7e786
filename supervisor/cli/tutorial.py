"""`supervisorctl tutorial`: list a tutorial's blocks, and check them against the tests. Needs no daemon."""

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
    """Check and extend a tutorial script and the tests that prove it."""


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
    """List a script's blocks (lines, section, id) and seeds. Exits 2 if part of it can't be parsed.

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
    tests: Annotated[list[Path], typer.Option(metavar="DIR", exists=True, help="A folder of tests; repeatable.")],
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML to this file.")] = None,
    annotations: Annotated[Annotations | None, typer.Option(help="Print CI annotations too.")] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="FILE", help="A file of known gaps to allow.")] = None,
    update_baseline: Annotated[bool, typer.Option(help="Remove closed gaps from the baseline.")] = False,
    fix: Annotated[bool, typer.Option(help="Update citations of edited blocks and show the diff.")] = False,
) -> None:
    """Check both ways: every block is cited by a test, every test cites a block, no citation is stale.

    Exits 0 if so, 1 if there are gaps, 2 if a file can't be parsed.

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
    """Apply a baseline to the report. The first update creates the file; later ones only remove entries."""
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
            print(f"{refused} new gaps were not added to {path}: a baseline only shrinks.", file=sys.stderr)
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
