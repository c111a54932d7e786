"""Arguments and options that several verbs take."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from supervisor.cli import ids

BATCH = typer.Argument(
    metavar="BATCH", help="A batch id or a unique prefix of one.", show_default=False, autocompletion=ids.batches
)
JOB = typer.Argument(
    metavar="JOB", help="BATCH.NUMBER; the batch id may be shortened.", show_default=False, autocompletion=ids.jobs
)
TARGET = typer.Argument(
    metavar="BATCH|JOB", help="A batch, or a job as BATCH.NUMBER.", show_default=False, autocompletion=ids.targets
)
TIMEOUT = typer.Option(min=0, metavar="SECONDS", help="Give up after this long (exit 124).", show_default=False)


def _json(ctx: typer.Context, value: bool) -> None:
    ctx.obj.json = ctx.obj.json or value


def _socket(ctx: typer.Context, value: Path | None) -> None:
    ctx.obj.socket = value or ctx.obj.socket


_SOCKET = typer.Option(
    "--socket",
    metavar="PATH",
    callback=_socket,
    help="The daemon's socket.",
    show_default=False,
)
#: accepted before the verb and after it; they set the session and are not passed to the verb
_COMMON: dict[str, tuple[Any, object]] = {
    "as_json": (
        Annotated[bool, typer.Option("--json", callback=_json, help="Print JSON.")],
        False,
    ),
    "socket": (Annotated[Path | None, _SOCKET], None),
}


def with_common_options(verb: Callable[..., None]) -> Callable[..., None]:
    @wraps(verb)
    def run(**given: Any) -> None:
        verb(**{name: value for name, value in given.items() if name not in _COMMON})

    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for name, (annotation, default) in _COMMON.items()
    ]
    own = inspect.signature(verb)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), *more])  # type: ignore[attr-defined]
    run.__annotations__ = get_type_hints(verb, include_extras=True) | {p.name: p.annotation for p in more}
    return run
