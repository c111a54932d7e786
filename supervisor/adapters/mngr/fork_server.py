"""Runs under mngr's own interpreter: imports mngr once, then forks a child for each call. Imports nothing of ours.

Standard input is a SOCK_SEQPACKET socket to the daemon; one packet is one JSON object.
    to us    {"id": 1, "argv": […], "cwd": "…", "env": {…}} with three descriptors: the call's stdout and stderr, and
             one into which its exit code is written once it has ended, negative for a signal
             {"kill": 1}      kill that call's process group
    from us  {"ready": true, "python": "…", "paths": […]}     once mngr is imported

Forking is safe because this process has one thread. A child becomes the leader of its own session and behaves like a
new process: descriptors, directory, environment, argv; at the end it joins threads and runs exit handlers.
No call outlives the daemon: when the socket closes, every call's group is killed; and a child dies with this process.
"""

import array
import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable

MAX_PACKET = 2**20
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)

#: Functions that every call repeats and whose results can't change while this server lives: it is restarted when
#: anything is installed. Caching them makes a create and a destroy a third cheaper.
CONSTANT = (("pyinfra.api.connectors", "get_all_connectors"), ("sysconfig", "get_path"))
#: A function with which one call asks git three times about the same directory.
ASKED_AGAIN = ("imbue.mngr.utils.git_utils", "find_git_worktree_root")
#: Prints a warning that nobody reads here; for it, each create runs git's largest shell script: twenty processes.
UNREAD = ("imbue.mngr.hosts.host", "Host", "_warn_if_submodules_detected")


def main() -> None:
    link = socket.socket(fileno=os.dup(0))
    cli = importlib.import_module("imbue.mngr.main").cli
    if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208
        sys.exit("mngr starts threads when it is imported: it can't be forked")
    spare_calls()
    gc.collect()
    gc.freeze()
    awoken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    tell(link, {"ready": True, "python": sys.version.split()[0], "paths": packages})
    #: by process id: the number of each call, and the descriptor for its exit code
    calls: dict[int, tuple[int, int]] = {}
    try:
        while True:
            readable, _, _ = select.select([link.fileno(), awoken], [], [])
            if awoken in readable:
                os.read(awoken, 4096)
                reap(calls)
            if link.fileno() in readable and not take(link, cli, calls, (awoken, wake)):
                return
    finally:
        for pid in calls:
            kill(pid)


def spare_calls() -> None:
    """Patch the functions that this version of mngr has; names that are missing are skipped."""
    for name, function in CONSTANT:
        with contextlib.suppress(ImportError, AttributeError):
            put_in_place(getattr(importlib.import_module(name), function), functools.cache)
    with contextlib.suppress(ImportError, AttributeError):
        put_in_place(getattr(importlib.import_module(ASKED_AGAIN[0]), ASKED_AGAIN[1]), asked_once)
    with contextlib.suppress(ImportError, AttributeError):
        importlib.import_module("pyinfra.api.connectors").get_all_connectors()
    with contextlib.suppress(ImportError, AttributeError):
        module, kind, method = UNREAD
        owner = getattr(importlib.import_module(module), kind)
        getattr(owner, method)  # raises if it is missing, so that none is added
        setattr(owner, method, lambda *_: None)


def put_in_place(function: Callable, wrap: Callable[[Callable], Callable]) -> None:  # type: ignore[type-arg]
    """Replace a function, also in modules that have imported it by its name."""
    wrapped = wrap(function)
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(function.__name__) is function:
            setattr(module, function.__name__, wrapped)


def asked_once(function: Callable) -> Callable:  # type: ignore[type-arg]
    """Cache results within one call. Each call is forked from here, so it starts with an empty cache."""
    known: dict[str, object] = {}

    def asked(*args: object, **named: object) -> object:
        about = str([*args, *named.values()][:1])
        if about not in known:
            known[about] = function(*args, **named)
        return known[about]

    return asked


def take(link: socket.socket, cli: object, calls: dict[int, tuple[int, int]], ours: tuple[int, int]) -> bool:
    """Handle one packet; False once the daemon is gone."""
    data, ancillary, _, _ = link.recvmsg(MAX_PACKET, socket.CMSG_SPACE(3 * 4))
    fds = array.array("i")
    for _level, _type, payload in ancillary:
        fds.frombytes(payload[: len(payload) - len(payload) % 4])
    if not data:
        return False
    request = json.loads(data)
    if "kill" in request:
        for pid in [pid for pid, (number, _) in calls.items() if number == request["kill"]]:
            kill(pid)
        return True
    server = os.getpid()
    pid = os.fork()
    if pid == 0:
        for fd in (*ours, fds[2], *(telling for _, telling in calls.values())):
            os.close(fd)
        link.close()
        become_mngr(cli, request, fds, server)
    calls[pid] = request["id"], fds[2]
    for fd in fds[:2]:
        os.close(fd)
    return True


def become_mngr(cli: object, request: dict, fds: array.array, server: int) -> None:  # type: ignore[type-arg]
    code = 1
    gc.disable()  # it lives for a second
    try:
        os.setsid()
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for fd, place in ((nothing, 0), (fds[0], 1), (fds[1], 2)):
            os.dup2(fd, place)
            os.close(fd)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        sys.argv = ["mngr", *request["argv"]]
        code = run(cli)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run(cli: object) -> int:
    """Call mngr, then end like an interpreter: join threads, run exit handlers."""
    try:
        cli.main(args=sys.argv[1:], prog_name="mngr")  # type: ignore[attr-defined]
        code = 0
    except SystemExit as left:
        if left.code is not None and not isinstance(left.code, int):
            print(left.code, file=sys.stderr)  # noqa: T201
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    return code & 0xFF


def reap(calls: dict[int, tuple[int, int]]) -> None:
    while calls:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        if (call := calls.pop(pid, None)) is not None:
            with contextlib.suppress(BrokenPipeError):  # the reader is gone
                os.write(call[1], str(os.waitstatus_to_exitcode(status)).encode())
            os.close(call[1])


def kill(pid: int) -> None:
    """The call is not reaped yet, so the process id is its own; before `setsid` it has no group of that id."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)


def tell(link: socket.socket, message: dict) -> None:  # type: ignore[type-arg]
    link.send(json.dumps(message).encode())


if __name__ == "__main__":
    main()
