"""Which programs can be watched from inside: Python that loads what notes, shells that start nothing else, and small
tools that read the files which they are given, and no others.

Of any other program nobody knows what it reads. (For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Any

SHELLS = ("sh", "bash", "dash")
#: what a shell does itself, without reading a file
BUILTINS = ("cd", "echo", "export", "unset", "set", "true", "false", ":", "exit", "printf", "umask", "wait", "sleep")
#: they read the files that they name, if that; what they are given is noted when they are started
TOOLS = frozenset(
    ("cat", "chmod", "cmp", "cp", "cut", "date", "diff", "false", "grep", "head", "mkdir", "mv", "pwd", "rm", "rmdir")
).union(("seq", "sleep", "sort", "tail", "tee", "touch", "tr", "true", "uniq", "wc"))
#: of these tools, the ones that read no file
WRITERS = frozenset(("chmod", "mkdir", "rm", "rmdir", "touch"))
TOOL_PLACES = ("/bin", "/usr/bin")
#: so many words of a command are noted
MOST_WORDS = 100
OPERATORS = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "|&"})
_REPLACED = frozenset("$*?[~")
#: it runs without the places where what notes is found
BLIND_FLAGS = frozenset("IES")


def expected(program: str, args: list[str], folder: str, path: Any) -> int:
    """How many interpreters it starts, all of which are watched; -1: nobody knows."""
    found = program if os.sep in program else shutil.which(program, path=path) or program
    file = os.path.realpath(os.path.join(folder, found))
    name = os.path.basename(file)
    if name.startswith("python"):
        return -1 if _is_blind(args) else 1
    if name in SHELLS or os.path.basename(found) in SHELLS:
        return _of_shell(args[1], folder, path) if len(args) > 1 and args[0] == "-c" else -1
    if os.path.basename(found) in TOOLS and os.path.dirname(file) in TOOL_PLACES:
        return 0 if _is_told_what_to_read(os.path.basename(found), args, folder) else -1
    try:
        with open(file, "rb") as opened:
            first = opened.readline(200).decode(errors="replace").split()
    except OSError:
        return -1
    is_python = bool(first) and first[0].startswith("#!") and any("python" in each for each in first)
    return 1 if is_python and not _is_blind(first[1:]) else -1


def _is_blind(args: list[str]) -> bool:
    for each in args:
        if not each.startswith("-") or each in ("-c", "-m"):
            return False
        if BLIND_FLAGS & set(each) and not each.startswith("--"):
            return True
    return False


def _is_told_what_to_read(tool: str, args: list[str], folder: str) -> bool:
    """Each file by its name, and none by the folder that it is in."""
    if tool in WRITERS:
        return True
    given = [each for each in args if not each.startswith("-")]
    read = given[:-1] if tool in ("cp", "mv") else given
    named = not any(os.path.isdir(os.path.join(folder, each)) for each in read)
    flags = "".join(each for each in args if each.startswith("-"))
    return (
        named and len(args) < MOST_WORDS and not (tool == "grep" and ("r" in flags or "R" in flags or "f" in flags))
    )


def _of_shell(command: str, folder: str, path: Any) -> int:
    if any(each in command for each in ("`", "$(", "<", "\\\n", "(", "{")):
        return -1
    count = 0
    # The shell puts other names in place of these, or looks for them in another folder.
    is_told_elsewhere = bool(_REPLACED & set(command)) or "cd" in command.split() or len(command.split()) > MOST_WORDS
    for line in command.splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        words.whitespace_split, words.commenters = True, "#"
        try:
            found = _of_line(list(words), folder, path, is_told_elsewhere)
        except ValueError:
            return -1
        if found < 0:
            return -1
        count += found
    return count


def _of_line(words: list[str], folder: str, path: Any, is_told_elsewhere: bool) -> int:
    count, begins, is_target = 0, True, False
    for place, word in enumerate(words):
        if word in OPERATORS:
            begins, is_target = not word.startswith(">"), word.startswith(">")
        elif is_target:
            is_target = False
        elif begins and "=" in word and word.partition("=")[0].isidentifier():
            continue
        elif begins:
            begins = False
            if word not in BUILTINS:
                end = next((at for at in range(place, len(words)) if words[at] in OPERATORS), len(words))
                found = expected(os.path.expanduser(word), words[place + 1 : end], folder, path)
                if found < 0 or "$" in word or (found == 0 and is_told_elsewhere):
                    return -1
                count += found
    return count
