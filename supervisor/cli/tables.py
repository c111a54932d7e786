"""Tables: drawn by rich to fit a terminal; in a stable plain layout when the output is read by a program.

Scripts may rely on the plain layout: one line per row, nothing is truncated; the first line has the titles in
capitals; columns are separated by at least two spaces and never contain two in a row; `-` stands for an empty cell;
no colour. Columns may be added at any time, except after the last. For anything else programs use `--json`.
"""

from collections.abc import Sequence

from supervisor.cli.printing import PAINT, clean, has_colours, has_terminal, terminal_columns

#: rich takes 0.3 ms for a row of seven columns, 40 times the plain layout: 10,000 jobs would take 3 s
MOST_DRAWN = 1_000

_GAP = "  "


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    titles = [title.upper() for title in head]
    cells = [[_cell(value) for value in row] for row in rows]
    return _drawn(titles, cells) if has_terminal() and len(rows) <= MOST_DRAWN else _plain([titles, *cells])


def _cell(value: object) -> str:
    """One line without terminal escapes: agents' text is untrusted."""
    return " ".join(clean("" if value is None else value).split()) or "-"


def _plain(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    padded = (
        (cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    return "\n".join(_GAP.join(cells).rstrip() for cells in padded)


def _width(text: str) -> int:
    """The width in terminal cells: some characters take two, some none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _drawn(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Shrink the widest columns to fit the terminal; their text wraps, so nothing is lost."""
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
