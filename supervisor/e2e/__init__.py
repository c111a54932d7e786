"""End-to-end tests of command-line tools, made from a tutorial: run commands, check their output, record terminals.

Independent: imports nothing else of this project, so a target repository can use it as a pytest plugin. Tests use
the `e2e` fixture and `from supervisor.e2e import expect`; everything else is imported lazily.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.e2e.expectations import expect as expect
    from supervisor.e2e.ptys import Size as Size
    from supervisor.e2e.result import CommandResult as CommandResult
    from supervisor.e2e.session import E2e as E2e

_HOMES = {"expect": "expectations", "CommandResult": "result", "E2e": "session", "Size": "ptys"}
__all__ = ["CommandResult", "E2e", "Size", "expect"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
