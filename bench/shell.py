"""Compares the tutorial's shell parser with tree-sitter-bash on real scripts, with bash itself as the reference.

    python -m bench.shell [--scripts 1000] [--show 3] [FOLDER...]

The default folders are /usr and /etc. Needs `pip install tree-sitter tree-sitter-bash`, which the project itself does
not use. Only scripts that bash accepts are compared.

- *blocks*: is a blank line inside a command? This is checked with bash for every blank line: `bash -n` rejects a
  script that ends in the middle of a command.
- *here-documents*, *comments*, *first words* of commands: bash does not report these. Where the parsers differ, bash
  checks the script with that place changed: it accepts junk only in data and comments, and rejects a closing keyword
  at the beginning of a command.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.shell_readers import SHEBANG, Place, Seen, Theirs, ours

FOLDERS = ("/usr", "/etc")
KINDS = ("blocks", "here-documents", "comments", "first words")
LARGEST, SECONDS = 200_000, 30.0
#: junk that is invalid in code and in a quote
RUBBISH = "' \" ) ;; ("
#: junk that is invalid in code, but valid in a quote
JUNK = ") ;; ) ;; ("


def accepts(script: str) -> bool:
    """Whether bash can parse all of it; for an unfinished here-document it only prints a warning."""
    bash = ("bash", "--norc", "-O", "extglob", "-n")
    done = subprocess.run(
        bash,
        input=script.encode("latin-1"),
        capture_output=True,
        timeout=SECONDS,
        check=False,
        close_fds=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
    )
    return done.returncode == 0 and b"here-document" not in done.stderr


def scripts(folders: Sequence[str], most: int) -> Iterator[tuple[Path, str]]:
    """This many scripts that bash accepts, in an order that does not depend on their location."""
    found: dict[str, tuple[Path, bytes]] = {}
    for folder in folders:
        for place, _, names in os.walk(folder):
            for path in (Path(place) / name for name in names):
                if (data := _script(path)) is not None:
                    found[hashlib.sha256(data).hexdigest()] = path, data
    taken = 0
    for _, (path, data) in sorted(found.items()):
        text = data.decode("latin-1")  # one character per byte, as in bash's C locale and tree-sitter
        if taken < most and accepts(text):
            taken += 1
            yield path, text


def _script(path: Path) -> bytes | None:
    try:
        if path.is_symlink() or not path.is_file() or not 0 < path.stat().st_size <= LARGEST:
            return None
        with path.open("rb") as file:
            if not SHEBANG.match(file.readline(200)) and path.suffix not in (".sh", ".bash"):
                return None
            file.seek(0)
            data = file.read()
    except OSError:
        return None
    return None if b"\0" in data or b"\r" in data else data


def open_lines(lines: list[str]) -> Iterator[tuple[int, bool]]:
    """Each blank line that follows a non-blank one, and whether it is inside a command according to bash."""
    start = 0
    for row in range(1, len(lines)):
        if not lines[row].strip() and lines[row - 1].strip():
            is_open = not accepts("\n".join(lines[start:row]) + "\n")
            start = start if is_open else row
            yield row, is_open


def is_heredoc(lines: list[str], at: Place) -> bool:
    """Whether a here-document begins in this line: then bash accepts junk in the next one."""
    return accepts("\n".join([*lines[: at.row + 1], RUBBISH, *lines[at.row + 1 :]]) + "\n")


def is_comment(lines: list[str], at: Place) -> bool:
    """Whether bash accepts junk after its `#`, and rejects it in place of the `#`."""
    before = lines[at.row][: at.column]
    with_mark, without = (
        accepts("\n".join([*lines[: at.row], before + text, *lines[at.row + 1 :]]) + "\n")
        for text in (f"# {JUNK}", JUNK)
    )
    return with_mark and not without


def begins_command(lines: list[str], at: Place) -> bool:
    """Whether bash rejects a closing keyword in front of it."""
    line = lines[at.row]
    changed = line[: at.column] + "} " + line[at.column :]
    return not accepts("\n".join([*lines[: at.row], changed, *lines[at.row + 1 :]]) + "\n")


class Tally:
    """Where each parser is wrong, by kind."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.wrong: dict[tuple[str, str], list[str]] = {}

    def add(self, kind: str, who: str, path: Path, row: int, line: str) -> None:
        self.wrong.setdefault((kind, who), []).append(f"{path}:{row + 1}: {line.strip()[:100]}")

    def judge(self, path: Path, lines: list[str], ours: Seen, theirs: Seen) -> None:
        for row, is_open in open_lines(lines):
            self.asked["blocks"] += 1
            for who, seen in (("ours", ours), ("theirs", theirs)):
                if (row in seen.open_at) is not is_open:
                    self.add("blocks", who, path, row, lines[row - 1])
        for kind, mine, other, is_there in (
            ("here-documents", ours.heredocs, theirs.heredocs, is_heredoc),
            ("comments", ours.comments, theirs.comments, is_comment),
            ("first words", ours.words, theirs.words, begins_command),
        ):
            self.asked[kind] += len(mine | other)
            for at in mine ^ other:
                who = "ours" if (at in mine) is not is_there(lines, at) else "theirs"
                self.add(kind, who, path, at.row, f"col {at.column + 1} {lines[at.row]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", default=FOLDERS)
    parser.add_argument("--scripts", type=int, default=1000)
    parser.add_argument("--show", type=int, default=3, help="how many mistakes of each kind to show")
    said = parser.parse_args()
    try:
        theirs = Theirs()
    except ImportError as missing:
        print(f"not compared: {missing}; pip install tree-sitter tree-sitter-bash")
        sys.exit(0)
    tally, found = Tally(), list(scripts(said.folders, said.scripts))
    spent: Counter[str] = Counter()

    def compare(script: tuple[Path, str]) -> None:
        path, text = script
        tally.judge(path, text.split("\n"), ours(text), theirs(text))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(compare, found))
    for name, reader in (("ours", ours), ("theirs", theirs)):
        began = time.process_time()
        for _, text in found:
            reader(text)
        spent[name] = round(1000 * (time.process_time() - began))
    _print(tally, found, spent, said.show)


def _print(tally: Tally, found: list[tuple[Path, str]], spent: Counter[str], show: int) -> None:
    print(f"{len(found)} scripts, {sum(text.count(chr(10)) for _, text in found)} lines")
    print(f"{'':>16}  {'places':>8}  {'ours wrong':>10}  {'theirs wrong':>12}")
    for kind in KINDS:
        wrong = [len(tally.wrong.get((kind, who), [])) for who in ("ours", "theirs")]
        print(f"{kind:>16}  {tally.asked[kind]:>8}  {wrong[0]:>10}  {wrong[1]:>12}")
    print(f"{'CPU, ms':>16}  {'':>8}  {spent['ours']:>10}  {spent['theirs']:>12}")
    for (kind, who), places in sorted(tally.wrong.items()):
        for place in sorted(places)[:show]:
            print(f"{who} wrong in {kind}: {place}")


if __name__ == "__main__":
    main()
