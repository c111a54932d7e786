"""The programs that a tutorial starts: people copy its lines, so one that it did not start before is a doubt."""

import re
from collections.abc import Iterator

from supervisor.verification.rules.judged import Doubt, FileChange

#: where a command begins, besides the start of a line
_BEGINS = re.compile(r"\|\||&&|[|;&`{}()]|\b(?:then|do|else|if|while|until|exec|eval|sudo|env|time|!)\s")
_ASSIGNED = re.compile(r"^(?:\w+=\S*\s+)+")
_WORD = re.compile(r"[\w./$~+-]+")
#: words that start no program
_SPOKEN = re.compile(
    r"fi|done|esac|case|for|in|then|do|else|elif|if|while|set|cd|echo|export|printf|true|false|exit|return|local"
    r"|function|shift|test|[^A-Za-z$]*"
)


def other_programs(change: FileChange) -> Iterator[Doubt]:
    before = set(_started(change.before or ""))
    new = [each for each in dict.fromkeys(_started(change.after or "")) if each not in before]
    for each in new[:3]:
        yield Doubt(f"{change.path} runs `{each[:60]}`, which it did not before")


def _started(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        said = line.strip().removeprefix("$ ")
        if said.startswith("#"):
            continue
        for part in _BEGINS.split(said):
            word = _WORD.match(_ASSIGNED.sub("", part.strip()).lstrip("\"'"))
            if word and not _SPOKEN.fullmatch(word[0]):
                yield word[0]
