"""The survey of a batch's base, as data and in words."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from supervisor.model.survey import Survey

_COUNTS = ("green", "red", "flaky", "skipped")


def view(survey: "Survey") -> dict[str, Any] | None:
    """None: the batch has no survey."""
    if not survey.files:
        return None
    found = survey.found
    counts = {name: getattr(found, name) for name in (*_COUNTS, "unrun")}
    return {
        "files": len(survey.files),
        "surveyed": survey.over,
        **counts,
        "red_tests": list(found.red_tests),
        "flaky_tests": list(found.flaky_tests),
        "problem": found.problem or None,
        "seconds": round(found.seconds, 1),
        "setup_seconds": round(found.setup_seconds, 1),
    }


def in_words(survey: Mapping[str, Any] | None) -> str:
    """`310 green, 12 red, 3 skipped; setup 41 s`; "" as long as nothing is known."""
    if not survey or not survey["surveyed"]:
        return ""
    said = [f"{survey[name]} {name}" for name in _COUNTS if survey[name]]
    said += [f"{survey['unrun']} that could not be run"] if survey["unrun"] else []
    parts = [", ".join(said) or "no test was run"]
    if survey["setup_seconds"] >= 1:
        parts.append(f"setup {survey['setup_seconds']:.0f} s")
    if survey["surveyed"] < survey["files"]:
        parts.append(f"{survey['surveyed']} of {survey['files']} files so far")
    return "; ".join(parts)
