"""What `doctor` says of the selector: whether it can know what tests reach by programs that are not Python."""

from collections.abc import Iterator

from supervisor.cli import session
from supervisor.cli.findings import Finding, Judged

TOLD = "the kernel tells which files verified tests open, by programs in any language"
HINT = (
    "it takes Linux 5.5 and leave to use seccomp and to look at processes of its own; in a container start that with"
    " `--security-opt seccomp=unconfined`"
)


def selector(here: session.Session, judged: Judged) -> Iterator[Finding]:
    from anyio import run

    from supervisor.settings import resolve
    from supervisor.verification.trials.running import tracing_lacks

    if not (lacks := run(tracing_lacks)):
        yield Finding("selector", "ok", TOLD)
        return
    selects = {resolve(judged.settings, name).select for name in ("default", *judged.settings.profiles)}
    is_wanted = "changed" in selects
    said = f"`changed` always takes tests that start programs other than Python: {lacks}"
    yield Finding("selector", "warning" if is_wanted else "ok", said, HINT if is_wanted else "")
