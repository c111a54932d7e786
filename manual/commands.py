"""Every verb of `supervisorctl` and every option of `supervisord`, as their own help has them."""

import argparse
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer.main

from supervisor.cli import gate as supervisor_gate
from supervisor.cli import main, supervisord

_EXAMPLE = re.compile(r"^Example: +(.*)$", re.M)
#: how Typer shows what an option takes, such as <str>
_TYPE = re.compile(r" <([^>]*)>")
_WORDS = {"str": "TEXT", "int": "N", "int range": "N", "float range": "SECONDS", "path": "PATH"}
#: of every verb: said once
COMMON = {"--json", "--socket", "--help"}


@dataclass(frozen=True, slots=True)
class Option:
    #: such as `--profile NAME`, or `[PATHS]...`
    synopsis: str
    about: str


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    synopsis: str
    about: str
    example: str
    options: tuple[Option, ...]


def verbs() -> tuple[Command, ...]:
    group: Any = typer.main.get_command(main.app)
    return tuple(_each("supervisorctl", group))


def common() -> tuple[Option, ...]:
    """What every verb takes, before it or after it."""
    group: Any = typer.main.get_command(main.app)
    return tuple(shown for each in group.params if (shown := _option(group, each)))


def daemon() -> Command:
    return _program(supervisord.parser())


def gate() -> Command:
    return _program(supervisor_gate.parser())


def _program(parser: argparse.ArgumentParser) -> Command:
    options = [_argument(each) for each in parser._actions if each.option_strings != ["-h", "--help"]]
    synopsis = " ".join([parser.prog, *(f"[{each.synopsis}]" for each in options)])
    return Command(parser.prog, synopsis, parser.description or "", "", tuple(options))


def _each(prefix: str, group: Any) -> Iterator[Command]:
    context = typer.Context(group, info_name=prefix)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if hasattr(found, "list_commands"):
            yield from _each(f"{prefix} {name}", found)
        else:
            yield _command(f"{prefix} {name}", found)


def _command(name: str, found: Any) -> Command:
    told = inspect.cleandoc(found.help or "")
    example = _EXAMPLE.search(told)
    own = [each for each in found.params if not COMMON & set(each.opts)]
    synopsis = " ".join([name, *found.collect_usage_pieces(typer.Context(found, info_name=name))])
    options = tuple(shown for each in own if (shown := _option(found, each)))
    return Command(name, synopsis, _EXAMPLE.sub("", told).strip(), example[1] if example else "", options)


def _option(command: Any, param: Any) -> Option | None:
    """None for one that help does not show."""
    shown = param.get_help_record(typer.Context(command))
    if shown is None:
        return None
    is_argument = param.param_type_name == "argument"
    name = _TYPE.sub(
        lambda found: "" if is_argument else f" {_WORDS.get(found[1], found[1])}", " ".join(shown[0].split())
    )
    return Option(name, " ".join(shown[1].split()))


def _argument(action: argparse.Action) -> Option:
    takes = f" {action.metavar}" if action.metavar else ""
    return Option("|".join(action.option_strings) + takes, action.help or "")
