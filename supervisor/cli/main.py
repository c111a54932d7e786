"""`supervisorctl`: each verb is imported on use, and every error is printed as one sentence and a hint."""

import sys
import tempfile
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from supervisor import __version__
from supervisor.adapters.private_tmux import leave_the_users_tmux
from supervisor.cli.arguments import with_common_options
from supervisor.cli.session import Session
from supervisor.errors import SupervisorError

VERBS = {
    "submit": "submitting:submit",
    "plan": "planning:plan",
    "status": "looking:status",
    "jobs": "looking:jobs",
    "job": "looking:job",
    "why": "why:why",
    "logs": "logs:logs",
    "events": "looking:events",
    "follow": "following:follow",
    "alerts": "watching:alerts",
    "budget": "budgeting:budget",
    "schedules": "watching:schedules",
    "top": "top:top",
    "report": "reporting:report",
    "review": "reviewing:review",
    "digest": "digesting:digest",
    "replay": "replaying:replay",
    "dashboard": "dashboard:dashboard",
    "work": "working:work",
    "metrics": "looking:metrics",
    "wait": "waiting:wait",
    "cancel": "steering:cancel",
    "retry": "steering:retry",
    "integrate": "steering:integrate",
    "pause": "steering:pause",
    "resume": "steering:resume",
    "drain": "steering:drain",
    "slots": "steering:slots",
    "reload": "steering:reload",
    "doctor": "doctor:doctor",
    "demo": "demonstrating:demo",
    "config": "config:app",
    "tutorial": "tutorial:app",
    "version": "looking:version",
    "completion": "completion:completion",
}
HIDDEN = {"complete": "completion:complete"}

#: of `supervisorctl`, with what each says
EXIT_CODES = {
    "0": "done as asked",
    "1": "ran, some jobs failed",
    "2": "usage or configuration",
    "3": "daemon unreachable",
    "4": "refused",
    "5": "no such thing",
    "6": "stopped by its budget",
    "7": "stopped by a limit, a login or the breaker",
    "124": "wait timed out",
    "130 and 143": "signals",
}
EPILOG = f"Exit codes: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."


class Verb(TyperCommand):
    """Arguments after `--` are passed to pytest unread."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            ctx.meta["rest"] = args[args.index("--") + 1 :]
            args = args[: args.index("--")]
        return super().parse_args(ctx, args)


class Verbs(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        where = VERBS.get(cmd_name) or HIDDEN.get(cmd_name)
        if where is None:
            return None
        module, _, name = where.partition(":")
        found = getattr(import_module(f"supervisor.cli.{module}"), name)
        return typer.main.get_command(found if isinstance(found, typer.Typer) else _app(cmd_name, found))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SupervisorError as error:
            ctx.obj.fail(error)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:
            sys.stderr.close()  # the reader, such as `head`, has closed the pipe
            raise typer.Exit(0) from None
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as bug:
            if type(bug).__module__.startswith(("typer", "click")):
                raise
            _confess(ctx.obj, bug)


def _app(name: str, verb: Callable[..., None]) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=Verb)(with_common_options(verb))
    return app


def _confess(session: Session, bug: Exception) -> NoReturn:
    """A bug of ours: write the traceback to a file, not to the screen."""
    with tempfile.NamedTemporaryFile("w", prefix="supervisorctl-", suffix=".log", delete=False) as file:
        traceback.print_exception(bug, file=file)
    hint = f"please report the details in {file.name}"
    session.fail(SupervisorError(f"supervisorctl failed: {type(bug).__name__}", hint=hint))
    raise typer.Exit(1)


app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 118},
)


def _say_version(value: bool) -> None:
    if value:
        print(f"supervisorctl {__version__}")
        raise typer.Exit(0)


VERSION = typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")


@app.callback()
@with_common_options
def root(version: Annotated[bool, VERSION] = False) -> None:
    """A coding agent on every end-to-end test, and one branch to review.

    Start with `supervisorctl submit tests/e2e`, then `supervisorctl follow`.
    """


def main() -> None:
    leave_the_users_tmux()
    typer.main.get_command(app)(obj=Session(), prog_name="supervisorctl")
