"""Makes a film of a recording: `python -m supervisor.e2e.view.filming` reads one, and prints what the player shows.

A recording may take the emulator any time and memory, so whoever has one of somebody else's gives this program both.
"""

import json
import sys
from pathlib import Path

from supervisor.e2e import casts
from supervisor.e2e.view.frames import film


def main() -> None:
    json.dump(film(casts.read(Path("/dev/stdin"))), sys.stdout)


if __name__ == "__main__":
    main()
