"""Packs the rules of policy for agents' hosts: one archive that Python runs, the same bytes for the same rules.

It holds the very modules that judge here, so that the publish tool says what the daemon will say.
"""

import io
import json
import zipfile
from functools import cache
from importlib.resources import files
from pathlib import Path

from supervisor.model.batch import Profile

RULES = "supervisor/verification/rules"
MODULES = (
    *(
        "answers",
        "asking",
        "cases",
        "checks",
        "comparisons",
        "doubts",
        "expectations",
        "judged",
        "names",
        "places",
        "policy",
    ),
    *("pytest_settings", "testcode", "tooling", "ways", "weakening"),
)
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@cache
def packed() -> bytes:
    root = files("supervisor")
    rules = root / "verification" / "rules"
    members = {
        "__main__.py": (root / "agents" / "advice.py").read_bytes(),
        **{f"{package}/__init__.py": b"" for package in ("supervisor", "supervisor/verification", RULES)},
        **{f"{RULES}/{name}.py": (rules / f"{name}.py").read_bytes() for name in MODULES},
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def write_advice(profile: Profile, test: str, rules: Path, settings: Path) -> None:
    """The archive, and what its rules are to know of one job."""
    if not rules.exists() or rules.read_bytes() != packed():
        fresh = rules.with_name(f".{rules.name}")
        fresh.write_bytes(packed())
        fresh.replace(rules)
    said = {"test": test, "allow": profile.allow_paths, "deny": profile.deny_paths}
    settings.write_text(json.dumps(said))
