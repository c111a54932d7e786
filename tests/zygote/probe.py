"""A program for the tests of the zygote: it says what it finds itself to be, or ends as it is told.

python -m tests.zygote.probe facts | exit STATUS | die SIGNAL | wait
"""

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

LIMITS = [name for name in dir(resource) if name.startswith("RLIMIT_")]


def facts() -> dict[str, Any]:
    known = signal.valid_signals()
    handlers = {int(number): str(signal.getsignal(number)).partition(" at ")[0] for number in known}
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return {
        "argv": sys.argv[1:],
        "name": __name__,
        "cwd": str(Path.cwd()),
        "environment": dict(os.environ),
        "umask": os.umask(0o077),
        "descriptors": _descriptors(),
        "terminals": [stream.isatty() for stream in streams],
        "streams": [[each.encoding, each.errors, each.line_buffering, each.newlines] for each in streams],
        "size": tuple(shutil.get_terminal_size()),
        "handlers": handlers,
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in LIMITS},
        "path": sys.path,
        "executable": sys.executable,
        "writes bytecode": not sys.dont_write_bytecode,
        "temporary": tempfile.gettempdir(),
        "zone": time.tzname,
        "threads": threading.active_count(),
        "said": sys.stdin.readline(),
    }


def _descriptors() -> list[str]:
    """But the one that the listing has for itself."""
    known = [path.name for path in Path("/proc/self/fd").iterdir()]
    return sorted(each for each in known if Path("/proc/self/fd", each).exists())


def wait() -> None:
    """Until HUP, which is answered; other signals do what they always do."""
    signal.signal(signal.SIGHUP, lambda *_: sys.exit("hung up"))
    print(os.getpid(), flush=True)
    while True:
        signal.pause()


def main() -> None:
    match sys.argv[1:]:
        case ["facts", *_]:
            print(json.dumps(facts()))
        case ["exit", status]:
            print("before the end", end="")
            sys.exit(int(status))
        case ["die", number]:
            os.kill(os.getpid(), int(number))
        case ["wait"]:
            wait()


if __name__ == "__main__":
    main()
