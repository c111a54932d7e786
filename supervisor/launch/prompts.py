"""Renders agents' prompts from templates, shipped or a profile's own, for one attempt.

A profile's folder takes precedence over the shipped templates, and its template may extend the shipped one of the
same name. Values are hostile: they are never parsed as templates; `code` and `fenced` quote them, and `word` removes
unsafe characters.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from supervisor.errors import Misconfigured
from supervisor.launch.at_base import UNKNOWN, AtBase
from supervisor.model.attempt import Attempt
from supervisor.model.batch import Batch
from supervisor.model.profile import Role

SHIPPED = Path(str(files("supervisor.agents"))) / "prompts"
_PREFIX = "shipped"


class _Environment(ImmutableSandboxedEnvironment):
    def join_path(self, template: str, parent: str) -> str:
        """A template that extends its own name extends the shipped one."""
        return f"{_PREFIX}/{template}" if template == parent else template


def render(role: Role, values: Mapping[str, object], folder: str = "") -> str:
    """The prompt of a role; templates in `folder` take precedence over the shipped ones."""
    if folder and not Path(folder).is_dir():
        raise Misconfigured(f"there is no folder of prompts {folder}", hint="fix `prompts` in the profile")
    try:
        return _environment(folder).get_template(f"{role}.md.j2").render(values)
    except (TemplateError, TypeError, ArithmeticError) as error:
        where = f" of {folder}" if folder else ""
        raise Misconfigured(
            f"the prompt template {role}.md.j2{where} can't be used: {error}",
            hint="see docs/prompts.md for the variables, and supervisor/agents/prompts for the shipped templates",
        ) from error


@cache
def _environment(folder: str) -> _Environment:
    own: list[BaseLoader] = [FileSystemLoader(folder)] if folder else []
    shipped = FileSystemLoader(SHIPPED)
    templates = _Environment(
        loader=ChoiceLoader([*own, shipped, PrefixLoader({_PREFIX: shipped})]),
        undefined=StrictUndefined,
        autoescape=False,  # it is Markdown
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"code": code, "fenced": fenced, "word": word}
    return templates


def values_of(
    batch: Batch, attempt: Attempt, run: str, at_base: AtBase = UNKNOWN, *, has_earlier_work: bool = False
) -> dict[str, Any]:
    """The variables of a template."""
    profile, cases = batch.profile, batch.cases_of(attempt.key.job)
    borrowed = batch.job(attempt.key.job).borrowed
    return {
        "batch": batch.id,
        "base": batch.base,
        "job": batch.job_id(attempt.key.job),
        "attempt": attempt.key.attempt,
        "test": batch.job(attempt.key.job).test,
        "run": run,
        "cases": cases,
        "test_seconds": f"{profile.test_timeout_seconds * cases:g}",
        "job_minutes": f"{batch.seconds_of(attempt.key.job) / 60:.0f}",
        "verify_runs": max(1, profile.verify_runs),
        "at_base": at_base.result,
        "at_base_message": at_base.message,
        "earlier_work": has_earlier_work,
        "sibling": batch.job_id(borrowed.job) if borrowed is not None else "",
        "sibling_failure": borrowed.why_not if borrowed is not None else "",
        "allow": profile.allow_paths,
        "deny": profile.deny_paths,
    }


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(least, longest + 1)


def code(value: object) -> str:
    """A value as inline Markdown code, whatever it contains."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
    ticks = _fence(text, 1)
    return f"{ticks} {text} {ticks}" if text[:1] == "`" or text[-1:] == "`" else f"{ticks}{text}{ticks}"


def fenced(value: object, language: str = "") -> str:
    """A value as a code block that its content can't close."""
    text = str(value)
    ticks = _fence(text, 3)
    return f"{ticks}{language}\n{text}\n{ticks}"


def word(value: object) -> str:
    """The characters of a value that are safe within a command or a JSON text."""
    return re.sub(r"[^A-Za-z0-9._-]", "", str(value))
