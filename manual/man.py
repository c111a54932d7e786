"""The man pages, from the same sources as the reference."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from manual import codes, commands, keys
from supervisor import __version__
from supervisor.cli import gate, supervisord

FILES = (
    ("/etc/agent-supervisor/config.toml", "the configuration, for root"),
    ("~/.config/agent-supervisor/config.toml", "the same, for everybody else"),
    ("/var/lib/agent-supervisor", "the state, for root"),
    ("~/.local/state/agent-supervisor", "the same, for everybody else"),
    ("/run/agent-supervisor/ctl.sock", "the socket, for root"),
)
WIDTH = 76
OVERVIEW = (
    "agent-supervisor puts a coding agent on every end-to-end test of a command-line tool, checks what the agents "
    "claim, and puts the verified work onto one branch for review."
)


def all_pages() -> Mapping[str, str]:
    return {
        "supervisorctl.1": "\n".join(_ctl()) + "\n",
        "supervisor-gate.8": "\n".join(_gate()) + "\n",
        "supervisord.8": "\n".join(_daemon()) + "\n",
        "agent-supervisor.toml.5": "\n".join(_configuration()) + "\n",
    }


def _ctl() -> Iterator[str]:
    yield from _head("supervisorctl", 1, "steer agent-supervisor")
    yield ".SH SYNOPSIS\n.B supervisorctl\n[\\fB\\-\\-json\\fR] [\\fB\\-\\-socket\\fR \\fIPATH\\fR] \\fIVERB\\fR ..."
    yield from _text(
        "DESCRIPTION", OVERVIEW, "supervisorctl talks to the daemon, supervisord(8), over a Unix socket."
    )
    yield ".SH OPTIONS\nAll but \\fB\\-\\-version\\fR can also stand behind the verb."
    yield from _listed((each.synopsis, each.about) for each in commands.common())
    yield ".SH VERBS"
    for verb in commands.verbs():
        yield f".SS {_plain(verb.synopsis)}"
        yield from (_plain(part) for part in [verb.about.replace("\n\n", "\n.PP\n")])
        yield from _listed((each.synopsis, each.about) for each in verb.options)
        if verb.example:
            yield f".PP\nExample: \\fB{_plain(verb.example)}\\fR"
    yield ".SH EXIT STATUS"
    yield from _listed(codes.CTL.items())
    yield from _end("supervisord(8), agent\\-supervisor.toml(5)")


def _daemon() -> Iterator[str]:
    daemon = commands.daemon()
    yield from _head("supervisord", 8, "the daemon of agent-supervisor")
    yield f".SH SYNOPSIS\n{_plain(daemon.synopsis)}"
    yield from _text("DESCRIPTION", OVERVIEW, "The daemon runs until it is told to stop. Stopping it ends no agent.")
    yield ".SH OPTIONS"
    yield from _listed((each.synopsis, each.about) for each in daemon.options)
    yield from _text("SIGNALS", supervisord.SIGNALS)
    yield ".SH EXIT STATUS"
    yield from _listed(codes.DAEMON.items())
    yield ".SH FILES"
    yield from _listed(FILES)
    yield from _end("supervisorctl(1), agent\\-supervisor.toml(5)")


def _gate() -> Iterator[str]:
    program = commands.gate()
    yield from _head("supervisor-gate", 8, "the gateway between agents and their model")
    yield f".SH SYNOPSIS\n{_plain(program.synopsis)}"
    yield from _text("DESCRIPTION", program.about, "It runs until it is told to stop, beside supervisord(8).")
    yield ".SH OPTIONS"
    yield from _listed((each.synopsis, each.about) for each in program.options)
    yield from _text("SIGNALS", gate.SIGNALS)
    yield ".SH EXIT STATUS"
    yield from _listed(gate.EXIT_CODES.items())
    yield from _end("supervisord(8), agent\\-supervisor.toml(5)")


def _configuration() -> Iterator[str]:
    yield from _head("agent-supervisor.toml", 5, "configuration of agent-supervisor")
    yield from _text(
        "DESCRIPTION",
        "supervisord(8) reads a TOML file. No file is needed: every key has a default.",
        keys.PRECEDENCE,
        "A key that does not exist is an error. `supervisorctl config check` looks at a file.",
    )
    for table in keys.all_tables():
        yield f".SH {_plain(table.name or 'TOP OF THE FILE')}"
        if table.about:
            yield _plain(table.about)
        yield from _listed((f"{key.name} ({key.kind})", _meaning(key)) for key in table.keys)
    yield ".SH FILES"
    yield from _listed(FILES[:2])
    yield from _end("supervisord(8), supervisorctl(1)")


def _meaning(key: keys.Key) -> str:
    return f"{key.about}. Default: {key.default}." if key.default else f"{key.about}."


# --- roff


def _head(name: str, section: int, what: str) -> Iterator[str]:
    yield f'.TH "{name.upper()}" "{section}" "" "agent-supervisor {__version__}" "agent-supervisor"'
    yield f".SH NAME\n{_plain(name)} \\- {_plain(what)}"


def _text(title: str, *paragraphs: str) -> Iterator[str]:
    yield f".SH {title}"
    yield "\n.PP\n".join(_plain(each) for each in paragraphs)


def _listed(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, about in rows:
        yield f".TP\n\\fB{_plain(term)}\\fR\n{_plain(about) or 'no description'}"


def _end(others: str) -> Iterator[str]:
    yield f".SH SEE ALSO\n{others}, tmux(1), git(1)"


def _plain(text: str) -> str:
    """What roff would take for a command is not one; words in backticks are bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
    lines = [part for line in text.split("\n") for part in textwrap.wrap(line, WIDTH, break_on_hyphens=False)]
    return "\n".join(line if line == ".PP" else re.sub(r"^([.'])", r"\\&\1", line) for line in lines)
