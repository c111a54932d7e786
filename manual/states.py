"""State diagrams as SVG: drawn from the lines of a mermaid diagram, without its script.

States stand in a column, in the order in which they are named, the last ones at the end. What leads on goes down the
right side, what leads back goes up the left side, each on a lane of its own; the labels stand beside the state that
they leave.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_EDGE = re.compile(r"^\s*(\S+) --> ([^\s:]+)(?:: (.*))?$")
LINE, WRAP, BOX, LABEL, LANE, GAP = 15, 26, 116, 190, 16, 26


@dataclass(frozen=True, slots=True)
class Edge:
    before: str
    after: str
    label: tuple[str, ...]

    @property
    def height(self) -> int:
        return LINE * max(1, len(self.label)) + 10


@dataclass(frozen=True, slots=True)
class Port:
    """Where an edge leaves or enters, below the top of its state."""

    edge: Edge
    y: int
    leaves: bool


def svg(mermaid: str, title: str) -> str:
    edges = [_edge(found) for line in mermaid.splitlines() if (found := _EDGE.match(line))]
    last = {edge.before for edge in edges if edge.after == "[*]"}
    named = dict.fromkeys(name for edge in edges for name in (edge.before, edge.after) if name != "[*]")
    names = sorted(named, key=last.__contains__)
    order = {name: at for at, name in enumerate(names)}
    drawn = [edge for edge in edges if "[*]" not in (edge.before, edge.after)]
    return "\n".join(_document(names, _sides(drawn, order), last, title))


def _edge(found: re.Match[str]) -> Edge:
    return Edge(found[1], found[2], tuple(textwrap.wrap(found[3] or "", WRAP, break_on_hyphens=False)))


def _sides(edges: Sequence[Edge], order: dict[str, int]) -> tuple[list[Edge], list[Edge]]:
    """What leads back, and what leads on; short ways before long ones, so that lanes cross little."""
    back = [edge for edge in edges if order[edge.after] <= order[edge.before]]
    on = [edge for edge in edges if order[edge.after] > order[edge.before]]

    def length(edge: Edge) -> int:
        return abs(order[edge.after] - order[edge.before])

    return sorted(back, key=length), sorted(on, key=length)


def _ports(name: str, edges: Sequence[Edge]) -> tuple[list[Port], int]:
    """Entries first, then what leaves; and how high that makes the state."""
    ports, y = list[Port](), 12
    for edge in (each for each in edges if each.after == name):
        ports.append(Port(edge, y + 4, leaves=False))
        y += 14
    for edge in (each for each in edges if each.before == name):
        ports.append(Port(edge, y + edge.height - 10, leaves=True))
        y += edge.height
    return ports, y + 8


def _document(
    names: Sequence[str], sides: tuple[list[Edge], list[Edge]], last: set[str], title: str
) -> Iterator[str]:
    widths = [LABEL + LANE * len(side) + 10 if side else 20 for side in sides]
    left, boxes, top = widths[0], dict[str, tuple[int, int]](), 40
    places: dict[tuple[bool, Edge], dict[bool, int]] = {}
    for name in names:
        heights = [34]
        for is_right, side in enumerate(sides):
            ports, height = _ports(name, side)
            heights.append(height if ports else 0)
            for port in ports:
                places.setdefault((bool(is_right), port.edge), {})[port.leaves] = top + port.y
        boxes[name] = (top, max(heights))
        top += max(heights) + GAP
    width = sum(widths) + BOX
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" role="img" '
        f'aria-label="{escape(title)}" class="states">'
    )
    yield f'<circle cx="{left + BOX // 2}" cy="12" r="6" class="start"/>'
    yield _arrow(f"M{left + BOX // 2} 18 V38", (left + BOX // 2, 40), 0, 1)
    for (is_right, edge), ends in places.items():
        yield from _way(edge, ends, is_right=is_right, left=left, lane=sides[is_right].index(edge))
    for name, (y, height) in boxes.items():
        kind = "state last" if name in last else "state"
        yield f'<rect x="{left}" y="{y}" width="{BOX}" height="{height}" rx="8" class="{kind}"/>'
        yield f'<text x="{left + BOX // 2}" y="{y + height // 2 + 5}" class="name">{escape(name)}</text>'
    yield "</svg>"


def _way(edge: Edge, ends: dict[bool, int], *, is_right: bool, left: int, lane: int) -> Iterator[str]:
    side = 1 if is_right else -1
    edge_of_box = left + BOX if is_right else left
    far = edge_of_box + side * (LABEL + LANE * lane)
    yield _arrow(
        f"M{edge_of_box} {ends[True]} H{far} V{ends[False]} H{edge_of_box + side * 4}",
        (edge_of_box, ends[False]),
        -side,
        0,
    )
    anchor = "start" if is_right else "end"
    for at, line in enumerate(reversed(edge.label)):
        yield (
            f'<text x="{edge_of_box + side * 8}" y="{ends[True] - 4 - LINE * at}" text-anchor="{anchor}" '
            f'class="event">{escape(line)}</text>'
        )


def _arrow(path: str, tip: tuple[int, int], dx: int, dy: int) -> str:
    """A line with a head that points along (dx, dy)."""
    x, y = tip
    back, across = (x - 8 * dx, y - 8 * dy), (4 * dy, 4 * dx)
    head = f"{x},{y} {back[0] + across[0]},{back[1] + across[1]} {back[0] - across[0]},{back[1] - across[1]}"
    return f'<path d="{path}" class="way"/><polygon points="{head}" class="head"/>'
