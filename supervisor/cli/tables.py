"""Tables: drawn by rich to the width of a terminal, and in a plain layout that stays as it is where a program reads.

The plain layout, on which scripts may rely: a row is a line and nothing is cut; the first line has the titles in
capitals; between two columns are two spaces or more, and in a column never two; nothing is `-`; no colour. Which
columns there are may grow at any time, but for the last one: `--json` is for programs that need more than that.
"""

from collections.abc import Sequence

from supervisor.cli.printing import PAINT, clean, has_colours, has_terminal, terminal_columns

#: a row of seven columns takes rich 0.3 ms, 40 times what the plain layout takes: 10,000 jobs would take 3 s
MOST_DRAWN = 1_000

_GAP = "  "


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    titles = [title.upper() for title in head]
    cells = [[_cell(value) for value in row] for row in rows]
    return _drawn(titles, cells) if has_terminal() and len(rows) <= MOST_DRAWN else _plain([titles, *cells])


def _cell(value: object) -> str:
    """Agents' words may hold anything: a cell is one line, without what a terminal would obey."""
    return " ".join(clean("" if value is None else value).split()) or "-"


def _plain(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    padded = (
        (cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    return "\n".join(_GAP.join(cells).rstrip() for cells in padded)


def _width(text: str) -> int:
    """In a terminal's cells: some characters take two, some take none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _drawn(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The widest columns give way to the terminal: what doesn't fit goes on below, so that nothing is lost."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, padding=(0, len(_GAP), 0, 0), pad_edge=False, header_style="bold")
    for title in titles:
        drawn.add_column(Text(title), overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell, style=PAINT.get(cell, "")) for cell in row))
    console = Console(
        file=StringIO(),
        width=terminal_columns(),
        force_terminal=True,
        color_system="standard" if has_colours() else None,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
