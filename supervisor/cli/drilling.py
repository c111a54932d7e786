"""`doctor --drill`: tells each step of a rehearsal as it ends, and clears up however it ends."""

import logging
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.cli import printing, session
from supervisor.errors import Refused

if TYPE_CHECKING:
    from supervisor.cli.findings import Judged
    from supervisor.rehearsal.drill.ground import Ground
    from supervisor.rehearsal.drill.step import Step


def drill(here: session.Session, judged: "Judged", user: int) -> bool:
    """Whether every step went well."""
    import structlog

    from supervisor.rehearsal.drill.ground import Ground
    from supervisor.rehearsal.drill.program import Drill

    if judged.user != user:
        raise Refused(
            f"the daemon runs as user {judged.user}, and a drill is worth something as that user only",
            hint="`sudo -u USER supervisorctl doctor --drill`",
        )
    # What a device has to say to a log is no step.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    steps: list[Step] = []
    began = time.monotonic()

    def tell(step: "Step") -> None:
        steps.append(step)
        if not here.json:
            print(_line(step), flush=True)

    here.note(f"A drill in {_pools(judged)}: agents without a model, by a daemon of their own.")
    with _ending_well():
        ground = Ground(judged.settings, judged.path, Path(sys.executable).with_name("supervisord"))
        try:
            Drill(ground, judged.settings, tell).run()
        finally:
            _clear(here, ground)
    ok = all(step.ok for step in steps)
    here.show(_data(steps, judged, ok=ok), _sum_up(steps, time.monotonic() - began))
    return ok


def _data(steps: list["Step"], judged: "Judged", *, ok: bool) -> dict[str, object]:
    return {"schema_version": 1, "ok": ok, "judged": judged.source, "steps": [asdict(step) for step in steps]}


@contextmanager
def _ending_well() -> Iterator[None]:
    """To clear up also when it is told to end, as after Ctrl-C."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _clear(here: session.Session, ground: "Ground") -> None:
    """A second Ctrl-C must not leave agents behind."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for problem in ground.clear():
            here.note(f"not cleared up: {printing.clean(problem)}")
    finally:
        signal.signal(signal.SIGINT, before)


def _line(step: "Step") -> str:
    mark = printing.paint("✓", "green") if step.ok else printing.paint("✗", "red")
    line = f"{mark} {step.pool or '-':<12} {step.name:<17} {step.seconds:6.1f} s"
    line += f"  {printing.clean(step.detail)}" if step.detail else ""
    return line + (f"\n  → {printing.clean(step.hint)}" if step.hint else "")


def _pools(judged: "Judged") -> str:
    names = [pool.name for pool in judged.settings.pools]
    return f"the pool {names[0]}" if len(names) == 1 else f"{len(names)} pools ({', '.join(names)})"


def _sum_up(steps: list["Step"], seconds: float) -> str:
    failed = sorted({step.pool or "the daemon" for step in steps if not step.ok})
    if failed:
        return f"{seconds:.0f} s: do not trust {', '.join(failed)} yet"
    return f"{seconds:.0f} s: every step went well"
