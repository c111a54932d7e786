"""Policy outside the daemon: asked in a process of its own, and packed for the publish tool on agents' hosts.

Parsing hostile code may take all memory or crash the interpreter, so this module is also a program: it reads
questions on stdin and prints breaches and doubts, as JSON. The archive for agents' hosts holds the same modules that
judge here, so that the publish tool says what the daemon will say.
"""

import io
import json
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from supervisor.model.profile import Profile
from supervisor.verification.rules.doubts import doubts
from supervisor.verification.rules.judged import Base, Breach, Doubt, FileChange
from supervisor.verification.rules.places import Allowed
from supervisor.verification.rules.policy import breaches
from supervisor.verification.trials.running import run

DEADLINE = 60.0
_BOUNDS = 'ulimit -v 2097152 && ulimit -t 30 && exec "$@"'
#: one process answers so many questions
AT_ONCE = 16
#: the longest answer to one question
MOST_BYTES = 16 * 2**10
MOST_BREACHES, MOST_DOUBTS, LONGEST = 5, 15, 180
RULES = "supervisor/verification/rules"
MODULES = (
    *(
        "answers",
        "asking",
        "cases",
        "checks",
        "commands",
        "comparisons",
        "doubts",
        "expectations",
        "judged",
        "names",
        "places",
        "policy",
    ),
    *("pytest_settings", "reading", "testcode", "tooling", "ways", "weakening"),
)
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Question:
    changes: tuple[FileChange, ...]
    test: str
    allowed: Allowed
    #: what the commits say they are
    kinds: tuple[str, ...] = ()
    base: Base = field(default_factory=Base)


@dataclass(frozen=True, slots=True)
class Objections:
    """What is certain, and what a reviewer, or a run, has to decide."""

    breaches: tuple[Breach, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def refusal(self) -> str:
        more = f" (and {len(self.breaches) - 3} more)" if len(self.breaches) > 3 else ""
        return "; ".join(map(str, self.breaches[:3])) + more


async def objections(question: Question, env: dict[str, str]) -> Objections:
    return (await objections_to_all([question], env))[0]


async def objections_to_all(questions: Sequence[Question], env: dict[str, str]) -> list[Objections]:
    """One process answers several questions. If it fails, each question gets a process of its own."""
    found: list[Objections] = []
    for start in range(0, len(questions), AT_ONCE):
        some = questions[start : start + AT_ONCE]
        answers = await _answers(some, env)
        if answers is None and len(some) > 1:
            answers = [await objections(each, env) for each in some]
        found += answers or [Objections((Breach("unreadable", "its changes are too much to be read"),))]
    return found


async def _answers(questions: Sequence[Question], env: dict[str, str]) -> list[Objections] | None:
    program = [sys.executable, "-I", "-m", __name__]
    argv = ["sh", "-c", _BOUNDS, "sh", *program]
    asked = msgspec.json.encode(questions)
    ended = await run(argv, cwd=Path("/"), env=env, timeout=DEADLINE, stdin=asked, keep=MOST_BYTES * len(questions))
    try:
        found = msgspec.json.decode(ended.tail, type=list[Objections]) if ended.code == 0 else []
    except msgspec.MsgspecError:
        return None
    return found if len(found) == len(questions) else None


async def inspect(question: Question, env: dict[str, str]) -> list[Breach]:
    return list((await objections(question, env)).breaches)


def main() -> None:
    questions = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Question])
    sys.stdout.write(msgspec.json.encode([_objections(each) for each in questions]).decode())


def _objections(question: Question) -> Objections:
    refused = breaches(question.changes, question.test, question.allowed, question.kinds, question.base)
    doubted = [] if refused else doubts(question.changes, question.test, question.base)
    # A few say as much as a thousand.
    return Objections(
        tuple(Breach(each.rule, _clean(each.message)) for each in refused[:MOST_BREACHES]),
        tuple(Doubt(_clean(each.sentence), each.settled_by) for each in doubted[:MOST_DOUBTS]),
    )


def _clean(text: str) -> str:
    """JSON can't hold lone surrogates, and unprintable characters have no place in a sentence."""
    shown = "".join(each if each.isprintable() else " " for each in text[:LONGEST])
    return shown.encode(errors="replace").decode()


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
    """Writes the archive, and what its rules need to know about one job."""
    if not rules.exists() or rules.read_bytes() != packed():
        fresh = rules.with_name(f".{rules.name}")
        fresh.write_bytes(packed())
        fresh.replace(rules)
    said = {"test": test, "allow": profile.allow_paths, "deny": profile.deny_paths}
    settings.write_text(json.dumps(said))


if __name__ == "__main__":
    main()
