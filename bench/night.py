"""A simulated night: the governor beside fixed numbers of agents, and beside a level that rises by one.

The additive one begins as the governor does and has its pauses and sleep; only its level has a rule of its own.
Jobs per hour, refused requests, and hours in which nothing worked beside those in which the provider granted none.
"""

import argparse
import sys
from statistics import mean

from tests.flow.nights.night import JOBS, WAYS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    head = ("", "hours", "jobs an hour", "refused", "launches", "lost h", "closed h", "true outcomes")
    print("{:<10} {:>7} {:>13} {:>9} {:>9} {:>8} {:>9} {:>14}".format(*head))
    for name, way in WAYS.items():
        came = [way(seed) for seed in seeds]
        row = (
            name,
            mean(each.hours for each in came),
            mean(each.jobs_per_hour for each in came),
            mean(each.refused for each in came),
            mean(each.launches for each in came),
            mean(each.lost_seconds for each in came) / 3600,
            mean(each.closed_seconds for each in came) / 3600,
            f"{sum(each.outcomes['fixed'] for each in came)}/{JOBS * len(came)}",
        )
        print("{:<10} {:>7.2f} {:>13.1f} {:>9.0f} {:>9.0f} {:>8.2f} {:>9.2f} {:>14}".format(*row), flush=True)
        each = "  ".join(f"{it.hours:.2f}/{it.refused}" for it in came)
        print(f"           each, hours/refused: {each}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
