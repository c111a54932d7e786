"""A moment of a terminal recording, as an SVG that fetches nothing."""

import io
import re
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

from supervisor.e2e import casts

#: what `follow` shows of how many jobs are over
_OVER = re.compile(r"(\d+)/(\d+)\s*$", re.M)
_FONTS = re.compile(r"@font-face\s*\{.*?\}", re.S)
#: the moment: so much of the batch is over
SHARE = 0.6


def svg(recording: Path, title: str) -> str:
    cast = casts.read(recording)
    screen = pyte.Screen(cast.size.columns, cast.size.lines)
    stream = pyte.Stream(screen)
    shown: list[Text] = []
    for event in cast.events:
        if event.code == "o":
            stream.feed(event.data)
            if _is_live(screen):
                shown = [_line(screen, at) for at in range(screen.lines)]
            if shown and _share(screen) >= SHARE:
                break
    return _drawn(_trimmed(shown), cast.size.columns, title)


def _is_live(screen: pyte.Screen) -> bool:
    return _OVER.search("\n".join(screen.display)) is not None


def _share(screen: pyte.Screen) -> float:
    found = _OVER.search("\n".join(screen.display))
    return int(found[1]) / int(found[2]) if found else 0.0


def _line(screen: pyte.Screen, at: int) -> Text:
    text = Text()
    for column in range(screen.columns):
        char = screen.buffer[at][column]
        colour = (
            None if char.fg == "default" else char.fg if not re.fullmatch("[0-9a-f]{6}", char.fg) else f"#{char.fg}"
        )
        text.append(char.data, Style(color=_NAMES.get(colour or "", colour), bold=char.bold))
    text.rstrip()
    return text


#: pyte has the names of a terminal of long ago
_NAMES = {"brown": "yellow"}


def _trimmed(lines: list[Text]) -> list[Text]:
    """From the line with the batch on, without empty lines at the end."""
    first = next((at for at, line in enumerate(lines) if _OVER.search(line.plain)), 0)
    last = max((at for at, line in enumerate(lines) if line.plain.strip()), default=0)
    return lines[first : last + 1]


def _drawn(lines: list[Text], columns: int, title: str) -> str:
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    for line in lines:
        console.print(line, no_wrap=True, overflow="crop", highlight=False)
    return _FONTS.sub("", console.export_svg(title=title, unique_id="follow"))
