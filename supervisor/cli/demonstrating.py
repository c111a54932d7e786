"""`demo`: the whole story on a small tool, without a model."""

from typing import Annotated

import typer

TESTS = typer.Argument(metavar="TEST", help="Tests of the demo's repository; without it, all 44.", show_default=False)


def demo(ctx: typer.Context, tests: Annotated[list[str] | None, TESTS] = None) -> None:
    """Put a scripted agent on every test of a small tool, half of which are in trouble, by a daemon of its own.

    It takes some minutes, needs no key, and leaves nothing behind.

    Example: supervisorctl demo tests/e2e/test_tags.py::test_list_by_tag
    """
    from supervisor.rehearsal import demo

    raise typer.Exit(demo.main(tests or ()))
