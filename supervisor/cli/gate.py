"""`supervisor-gate`: the gateway between agents and their model, until it is told to stop. See docs/gate.md."""

import argparse
import sys
from functools import partial
from pathlib import Path

from supervisor import __version__
from supervisor.cli.exiting import exit_code
from supervisor.observe import logs

EXIT_CODES = {
    "0": "stopped",
    "2": "the configuration or the state can't be used",
    "4": "another gate is running",
}
SIGNALS = "TERM and INT let answers under way come to their end, for 20 seconds; a second one does not."
EPILOG = f"{SIGNALS}\nExit codes: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    logs.set_up(options.log_format, program="supervisor-gate")
    return exit_code("supervisor-gate", partial(_run, options))


def _run(options: argparse.Namespace) -> int:
    import anyio

    from supervisor.errors import Misconfigured
    from supervisor.gate.accounts import Account
    from supervisor.gate.server import Terms
    from supervisor.gate.server import run as served
    from supervisor.settings import load

    settings = load(options.config, {"state_dir": options.state_dir and options.state_dir.expanduser().absolute()})
    gate = settings.gate
    if not gate.upstreams:
        hint = "say which, under [[gate.upstreams]]"
        raise Misconfigured("the gate has no provider to pass requests on to", hint=hint)
    host, _, port = gate.listen.rpartition(":")
    accounts = [Account(each.account or each.api, each.api, each.url, each.key) for each in gate.upstreams]
    anyio.run(served, Terms(settings.state_dir, host.strip("[]"), int(port), tuple(accounts), gate.hold_seconds))
    return 0


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="supervisor-gate",
        description="Pass requests of agents on to their model: with its key, counted, and never beyond a cap.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="the configuration; default: the usual one, if it exists"
    )
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help="the state directory of the daemon")
    choices = [str(each) for each in logs.Format]
    parser.add_argument("--log-format", type=logs.Format, default=logs.Format.AUTO, metavar="|".join(choices))
    parser.add_argument("--version", action="version", version=f"supervisor-gate {__version__}")
    return parser


if __name__ == "__main__":
    main()
