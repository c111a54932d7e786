"""Which assertions apply to which subject, and how a subject is shown if one fails."""

import json
from collections.abc import Sized
from pathlib import Path
from typing import Protocol, runtime_checkable

from supervisor.e2e import jsonpath
from supervisor.e2e.explaining import diff, excerpt, nearest
from supervisor.e2e.result import CommandResult


@runtime_checkable
class Showing(Protocol):
    """Something with text that changes: a spawned command, a terminal, a screen."""

    @property
    def output(self) -> str: ...


# --- the subject as what a claim needs, or an error that says what to write ----------------------------------
def result(subject: object, claim: str) -> CommandResult:
    if isinstance(subject, CommandResult):
        return subject
    raise TypeError(f"{claim} is about the result of e2e.run(…), not about {kind(subject)}")


def text(subject: object, claim: str) -> str:
    match subject:
        case str():
            return subject
        case CommandResult():
            raise TypeError(f"{claim} is about text: say which, as in expect(result).stdout.{claim}(…)")
        case Path():
            return subject.read_text(encoding="utf-8", errors="replace")
        case Showing():
            return subject.output
        case bytes():
            raise TypeError(f"{claim} is about text, not bytes: decode them first")
    raise TypeError(f"{claim} is about text, not about {kind(subject)}")


def plain(subject: object) -> object:
    """The value that equality compares: the text of a subject that has text, else the value itself."""
    return text(subject, "to_equal") if isinstance(subject, CommandResult | Path | Showing) else subject


def sized(subject: object, claim: str) -> Sized:
    value = text(subject, claim) if isinstance(subject, CommandResult | Path | Showing) else subject
    if isinstance(value, Sized):
        return value
    raise TypeError(f"{claim} is about text, a list or an object, not about {kind(value)}")


def path(subject: object) -> Path:
    if isinstance(subject, Path):
        return subject
    raise TypeError(f"to_exist is about a pathlib.Path, not about {kind(subject)}")


def document(subject: object) -> object:
    """Parse a text as JSON; a value that was already parsed is returned unchanged."""
    if isinstance(subject, dict | list):
        return subject
    written = text(subject, "json")
    try:
        return json.loads(written)
    except ValueError as error:
        raise AssertionError(f"this is not JSON ({error}):\n{excerpt(written)}") from None


def at(value: object, where: str) -> object:
    try:
        return jsonpath.look_up(value, where)
    except jsonpath.NoSuchPath as error:
        written = json.dumps(value, indent=1, ensure_ascii=False)
        raise AssertionError(f"there is no {where}: {error}\n{excerpt(written)}") from None


# --- tests ---------------------------------------------------------------------------------------------------
def has_failed(subject: CommandResult) -> bool:
    return subject.exit_code != 0 and not subject.timed_out


def contains(subject: object, part: object) -> bool:
    if isinstance(subject, dict | list | tuple | set | frozenset):
        return part in subject
    if not isinstance(part, str):
        raise TypeError(f"text can contain text, not {kind(part)}: {part!r}")
    return part in text(subject, "to_contain")


def has_lines(written: str, wanted: tuple[str, ...]) -> bool:
    lines = iter([line.strip() for line in written.splitlines()])
    return all(line.strip() in lines for line in wanted)


# --- how it is shown -----------------------------------------------------------------------------------------
def described(subject: object) -> str:
    match subject:
        case str():
            return "the text"
        case Path():
            return str(subject)
    return kind(subject)


def kind(subject: object) -> str:
    names = {str: "text", dict: "an object", list: "a list", type(None): "None", bool: "a bool", int: "a number"}
    return names.get(type(subject), f"a {type(subject).__name__}")


def short(value: object) -> str:
    written = repr(value)
    return written if len(written) <= 200 else f"{written[:200]}…"


def shown(subject: object, wanted: object = "") -> str:
    if isinstance(subject, str | Path | Showing) and not isinstance(subject, CommandResult):
        written = text(subject, "this")
        return f"  it was:\n{excerpt(written)}" + nearest(written, wanted) if isinstance(wanted, str) else ""
    return f"  it was: {short(subject)}"


def story(subject: object) -> str:
    """How a command ended and what it printed, so that nobody has to run it again."""
    ran = result(subject, "this")
    said = f"  {ran}"
    for name, written in (("stdout", ran.stdout), ("stderr", ran.stderr)):
        if written:
            said += f"\n  {name}:\n{excerpt(written)}"
    left = "".join(f"\n  left behind: {process.command} (pid {process.pid})" for process in ran.background)
    return said + left


def difference(found: object, wanted: object) -> str:
    if isinstance(found, str) and isinstance(wanted, str):
        return diff(found, wanted)
    if isinstance(found, dict | list) and isinstance(wanted, dict | list):
        return diff(_as_json(found), _as_json(wanted))
    return f"  it was: {short(found)}" + (f" ({kind(found)})" if type(found) is not type(wanted) else "")


def _as_json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True, default=repr, ensure_ascii=False) + "\n"
