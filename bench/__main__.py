"""`make bench`: every benchmark, one after the other."""

import subprocess
import sys

from supervisor.adapters.private_tmux import leave_the_users_tmux

BENCHMARKS = (
    ("100 jobs of 5 s on 10 slots, real mngr", "jobs"),
    ("300 jobs of 30 s on 50 slots, real mngr", "jobs", "--jobs", "300", "--slots", "50", "--work", "30"),
    ("10,000 jobs, and a restart with 100 live agents", "scale"),
    ("100 and 1,000 agents on 20 hosts", "agents"),
    ("the core: plan, apply, replay", "plan"),
    ("a night of 300 jobs under limits, beside fixed slots", "night"),
    ("one scrape of /metrics at 10,000 jobs", "metrics"),
    ("top with 300 agents", "top"),
    ("100 agents that write 200 lines a second each", "logs"),
    ("300 branches into one, beside git cherry-pick", "integration"),
    ("60 claims verified together, beside one by one", "verify"),
    ("1,000 tutorial blocks and 5,000 tests", "tutorial_check"),
    ("e2e.run beside subprocess.run", "e2e_run"),
    ("100 streams through the gate, beside straight to their model", "gate"),
    ("a run in walls, beside one without", "walls"),
    ("a run whose files are noted, beside one without", "tracing"),
    ("the dashboard in Chromium: 10,000 jobs, 300 agents", "dashboard"),
)


def main() -> int:
    """Run all benchmarks, or the named ones: `python -m bench plan e2e_run`."""
    leave_the_users_tmux()
    wanted = set(sys.argv[1:])
    code = 0
    for title, module, *arguments in BENCHMARKS:
        if not wanted or module in wanted:
            print(f"\n{title}", flush=True)
            code |= subprocess.run([sys.executable, "-m", f"bench.{module}", *arguments], check=False).returncode
    return code


if __name__ == "__main__":
    sys.exit(main())
