"""Tells an agent, on its own host, how policy will judge its work: one line each, `refused: …` or `doubt: …`.

    python3 -I policy.pyz SETTINGS.json BASE HEAD     in its clone; any Python from 3.11

It is packed with the rules themselves (`verification/inspecting.py`) and imports nothing else of this project.
"""

import json
import signal
import subprocess
import sys

from supervisor.verification.rules.doubts import doubts
from supervisor.verification.rules.judged import Base, FileChange
from supervisor.verification.rules.places import Allowed
from supervisor.verification.rules.policy import breaches
from supervisor.verification.rules.reading import TOO_LARGE

SECONDS = 60
MOST_FILES, MAX_TEXT, MOST_SAID, LONGEST = 500, 2**20, 5, 300


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], capture_output=True, check=True).stdout


def text(name: str, mode: int) -> str | None:
    if mode in (0, 0o160000):
        return "" if mode else None
    if int(git("cat-file", "-s", name)) > MAX_TEXT:
        return TOO_LARGE
    return git("cat-file", "blob", name).decode(errors="replace")


def changes(base: str, head: str) -> list[FileChange]:
    raw = git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", base, head).decode(errors="replace")
    words = raw.split("\0")
    found = []
    for about, path in zip(words[0:-1:2], words[1::2], strict=False):
        modes = [int(mode, 8) for mode in about[1:].split()[:2]]
        names = about.split()[2:4]
        before, after = (text(name, mode) for name, mode in zip(names, modes, strict=True))
        found.append(FileChange(path, before, after, *modes))
    if len(found) > MOST_FILES:
        sys.exit(3)
    return found


def known(base: str, test: str) -> Base:
    paths = git("ls-tree", "-r", "-z", "--name-only", base).decode(errors="replace").split("\0")
    own = test.partition("::")[0]
    source = git("show", f"{base}:{own}").decode(errors="replace") if own in paths else ""
    return Base(source, frozenset(path for path in paths if path.endswith(".py")))


def main() -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(SECONDS)
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - fewer imports, quicker start
        settings = json.load(file)
    base, head = sys.argv[2:4]
    files, test, repository = changes(base, head), settings["test"], known(base, settings["test"])
    subjects = git("log", "--format=%s", f"{base}..{head}").decode(errors="replace").splitlines()
    kinds = [line[1:].partition("]")[0] for line in subjects if line.startswith("[")]
    allowed = Allowed(tuple(settings["allow"]), tuple(settings["deny"]))
    found = breaches(files, test, allowed, kinds, repository)
    # The daemon's Python may be able to read what this one can't.
    refused = [breach for breach in found if breach.rule != "unreadable"]
    for breach in refused[:MOST_SAID]:
        say("refused", str(breach))
    for doubt in [] if refused else doubts(files, test, repository)[:MOST_SAID]:
        say("doubt", str(doubt))


def say(what: str, sentence: str) -> None:
    shown = "".join(each if each.isprintable() else " " for each in sentence[:LONGEST])
    sys.stdout.write(f"{what}: {shown.encode('ascii', 'backslashreplace').decode()}\n")


if __name__ == "__main__":
    main()
