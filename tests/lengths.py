"""How long the modules of tests take that take long, in seconds, as the sum of their tests.

`make test` leaves them to `make test-all`, which CI runs. They are begun first, the longest before all others: no
worker is left alone with one of them at the end. `python -m tests.lengths LOG…` reads what `pytest --durations=0`
has printed, and prints the table anew.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

#: who takes less is not in the table
LEAST = 6
_LINE = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+tests/(\S+?)::")

TABLE = Path(__file__).with_name("lengths.txt")


def known() -> dict[str, int]:
    rows = (line.split() for line in TABLE.read_text().splitlines())
    return {path: int(seconds) for seconds, path in rows}


def measured(lines: Iterable[str]) -> dict[str, int]:
    found = Counter[str]()
    for line in lines:
        if matched := _LINE.match(line):
            found[matched[2]] += round(1000 * float(matched[1]))
    return {path: round(took / 1000) for path, took in found.most_common() if took >= 1000 * LEAST}


def main(logs: Iterable[str]) -> None:
    found = dict[str, int]()
    for log in logs:
        with Path(log).open(errors="replace") as lines:
            found |= measured(lines)
    table = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    TABLE.write_text("".join(f"{seconds:5} {path}\n" for path, seconds in table))


if __name__ == "__main__":
    main(sys.argv[1:])
