"""`python -m supervisor.e2e.view DIR`: writes the page of a run without the daemon's command line."""

import argparse
import sys
from pathlib import Path

from supervisor.e2e.view.page import write


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m supervisor.e2e.view", description="Write one page of a run.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="a run's results, such as .test_output/e2e/RUN")
    parser.add_argument("--compare", type=Path, metavar="DIR2", help="an earlier run to compare with")
    parser.add_argument("--tutorial", type=Path, metavar="FILE", help="the script, to order blocks by")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: DIR/view.html")
    said = parser.parse_args()
    if not said.directory.is_dir():
        parser.error(f"there is no directory {said.directory}")
    sys.stdout.write(f"{write(said.directory, compare=said.compare, tutorial=said.tutorial, to=said.output)}\n")


if __name__ == "__main__":
    main()
