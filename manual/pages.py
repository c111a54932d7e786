"""The pages of the reference, as Markdown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from manual import api, codes, commands, events, keys, metrics

MADE = "This page is made from the code when the site is built.\n"


def all_pages() -> Mapping[str, str]:
    return {
        "command-line.md": "\n".join(_command_line()),
        "configuration.md": "\n".join(_configuration()),
        "api.md": "\n".join(_api()),
        "events.md": "\n".join(_events()),
        "exit-codes.md": "\n".join(_exit_codes()),
        "metrics.md": "\n".join(_metrics()),
    }


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(each.replace('|', '&#124;') for each in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>" if "|" in text or "`" in text else f"`{text}`" if text else ""


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# --- commands


def _command_line() -> Iterator[str]:
    yield f"# Command line\n\n{MADE}"
    yield "`supervisorctl` talks to the daemon, `supervisord` is the daemon, `supervisor-gate` the "
    yield "[gate](../gate.md). Each has a man page.\n"
    yield "## Options\n\nAll but `--version` can also stand behind the verb.\n"
    yield table(["option", "meaning"], ((code(each.synopsis), each.about) for each in commands.common()))
    for each in commands.verbs():
        yield from _command(each)
    yield from _command(commands.daemon())
    yield from _command(commands.gate())


def _command(command: commands.Command) -> Iterator[str]:
    yield f"## {command.name}\n\n```text\n{command.synopsis}\n```\n"
    yield command.about + "\n"
    if command.options:
        yield table(["", ""], ((code(each.synopsis), each.about) for each in command.options))
    if command.example:
        yield f"Example:\n\n```sh\n{command.example}\n```\n"


# --- configuration


def _configuration() -> Iterator[str]:
    yield f"# Configuration\n\n{MADE}"
    yield (
        "The file is TOML: `/etc/agent-supervisor/config.toml` for root, `~/.config/agent-supervisor/config.toml` "
        "for everybody else, or the one that `supervisord --config` names. None is needed.\n"
    )
    yield keys.PRECEDENCE + " A key that does not exist is an error.\n"
    yield "```sh\nsupervisorctl config check FILE\nsupervisorctl config show --origin\n```\n"
    for each in keys.all_tables():
        yield f"## {each.name or 'At the top of the file'}\n"
        if each.about:
            yield each.about + "\n"
        rows = ((code(key.name), _escaped(key.kind), _short(key.default), key.about) for key in each.keys)
        yield table(["key", "type", "default", "meaning"], rows)


def _short(default: str) -> str:
    """A list of twenty patterns would make its column wider than the page."""
    return code(default) if len(default) < 60 else default.replace("*", "\\*")


# --- API, events, exit codes


def _api() -> Iterator[str]:
    yield f"# HTTP API\n\n{MADE}"
    yield (
        "The daemon serves it on its Unix socket, and `GET /openapi.json` describes it to programs. Answers may get "
        "more fields, never fewer. Times are RFC 3339 in UTC. An error is an `ErrorAnswer`.\n"
    )
    yield "```sh\ncurl --unix-socket /run/agent-supervisor/ctl.sock http://localhost/v1/status\n```\n"
    for route in api.routes():
        yield f"## {route.method} {route.path}\n\n{route.about}\n"
        gives = [f"Takes: {code(route.takes)}. " if route.takes else "", f"Gives: {code(route.gives)}."]
        yield "".join(gives) + "\n"
        if route.parameters:
            yield table(["parameter", "type", "meaning"], ((code(n), k, about) for n, k, about in route.parameters))
    yield "## Shapes\n"
    for shape in api.shapes():
        yield f"### {shape.name}\n\n{shape.about}\n"
        yield table(["field", "type", "meaning"], ((code(n), k, about) for n, k, about in shape.fields))


def _events() -> Iterator[str]:
    yield f"# Events\n\n{MADE}"
    yield (
        "`supervisorctl events --json` and `GET /v1/events` give one object for each event. All have `seq`, `at` and "
        "`kind`. Events of a batch have `batch`, those of a job also `job`, those of an attempt also `attempt`. "
        "Fields are added over time, never renamed.\n"
    )
    rows = (
        (code(each.kind), each.of or "daemon", "<br>".join([each.about, *_fields(each)]))
        for each in events.all_events()
    )
    yield table(["kind", "of a", "meaning and fields"], rows)


def _metrics() -> Iterator[str]:
    yield f"# Metrics\n\n{MADE}"
    yield (
        "`GET /metrics` and `supervisorctl metrics` give them; [Metrics](../metrics.md) says how they are used. "
        "Labels are never ids. Beside these there are the `process_…` metrics of the daemon of every exporter.\n"
    )
    rows = (
        (code(each.name), each.kind, ", ".join(map(code, each.labels)), each.about) for each in metrics.all_metrics()
    )
    yield table(["metric", "type", "labels", "meaning"], rows)


def _fields(event: events.Told) -> Iterator[str]:
    for name, about in event.fields:
        yield code(name) + (f": {about}" if about else "")


def _exit_codes() -> Iterator[str]:
    yield f"# Exit codes\n\n{MADE}"
    yield "## supervisorctl\n"
    yield table(["code", "meaning"], codes.CTL.items())
    yield "## supervisord\n"
    yield table(["code", "meaning"], codes.DAEMON.items())
    yield "## Errors in JSON\n"
    yield 'With `--json` and in the API an error is `{"error": {"code", "message", "hint", "exit_code"}}`.\n'
    yield table(["`error.code`", "exit code"], ((code(word), str(number)) for word, number in codes.words()))
