"""What `e2e.run("true")` costs over a plain `subprocess.run`, measured side by side in one process."""

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from supervisor.e2e.budget import Budget
from supervisor.e2e.environment import Home
from supervisor.e2e.results import TestRecord
from supervisor.e2e.session import E2e

ROUNDS = 300


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    home = Home.make()
    with tempfile.TemporaryDirectory() as directory:
        session = E2e(TestRecord("bench", Path(directory), 1), Budget(time.monotonic()), home)
        try:
            # Alternate, so that other load on the machine affects both alike.
            pairs = [
                (
                    seconds(lambda: subprocess.run(["bash", "-c", "true"], check=True)),
                    seconds(lambda: session.run("true")),
                )
                for _ in range(ROUNDS)
            ]
        finally:
            session.close()
            home.remove()
    plain, ours = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    print(f'e2e.run("true")  {ours:.2f} ms   subprocess.run  {plain:.2f} ms   {ours / plain:.2f} times (bound: 2)')


if __name__ == "__main__":
    main()
