"""`supervisord`: reads the configuration, then runs the daemon until it is told to stop."""

import argparse
import gc
import sys
from functools import partial
from pathlib import Path

from supervisor import __version__
from supervisor.adapters.private_tmux import leave_the_users_tmux
from supervisor.cli.exiting import exit_code
from supervisor.observe import logs

EXIT_CODES = {
    "0": "stopped",
    "1": "failed",
    "2": "the configuration or the state can't be used",
    "4": "another daemon is running",
}
SIGNALS = "TERM and INT detach: agents keep running, and the next start finds them. HUP reloads the configuration."
EPILOG = f"{SIGNALS}\nExit codes: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."


def main() -> None:
    leave_the_users_tmux()
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    logs.set_up(options.log_format)
    return exit_code("supervisord", partial(_run, options))


def _run(options: argparse.Namespace) -> int:
    gc.disable()  # imported modules are never garbage: collecting among them costs a fifth of the start
    from supervisor import serving, settings  # after parsing, so that a usage error is reported at once

    gc.freeze()
    gc.enable()
    flags = {"state_dir": _absolute(options.state_dir), "socket": _absolute(options.socket)}
    load = partial(settings.load, options.config, flags)
    if options.salvage:
        return _salvage(load().state_dir)
    origins = partial(settings.origins, options.config, flags)
    return serving.run(load(), load, origins, accept_older=options.accept_older_state)


def _salvage(state_dir: Path) -> int:
    from supervisor.adapters.layout import Layout
    from supervisor.adapters.lock import lock
    from supervisor.adapters.sqlite.salvage import salvage

    with lock(state_dir):
        report = salvage(Layout(state_dir).journal)
    print(f"saved {report.events} events and {report.sealed} finished batches; the damaged journal is {report.kept}")
    for lost in report.lost:
        print(f"lost: {lost}")
    if report.lost:
        print("no agents are launched until you run `supervisorctl resume`; check first which agents exist")
    if report.renamed:
        print("the name of this installation was lost: earlier agents are not recognised, see `mngr list`")
    return 1 if report.lost or report.renamed else 0


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="supervisord",
        description="Put a coding agent on every end-to-end test.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="the configuration; default: the usual one, if it exists"
    )
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help="the directory of all state that must survive")
    parser.add_argument("--socket", type=Path, metavar="PATH", help="the socket to listen on, for `supervisorctl`")
    choices = [str(each) for each in logs.Format]
    parser.add_argument("--log-format", type=logs.Format, default=logs.Format.AUTO, metavar="|".join(choices))
    parser.add_argument(
        "--salvage", action="store_true", help="recover what can be read of a damaged journal, and exit"
    )
    parser.add_argument(
        "--accept-older-state",
        action="store_true",
        help="start although the state is older than what was acknowledged, as after restoring a backup; no agents "
        "are launched until `supervisorctl resume`",
    )
    parser.add_argument("--version", action="version", version=f"supervisord {__version__}")
    return parser


def _absolute(path: Path | None) -> Path | None:
    return path and path.expanduser().absolute()


if __name__ == "__main__":
    main()
