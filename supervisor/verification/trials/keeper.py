"""Runs a program and kills all its descendants: a small process between the daemon and an agent's program.

A fresh interpreter gets it as text, after that of `walls/enclosing`, `walls/watching` and `trials/ending`, and that
of `tracing/` if files are to be noted. It imports nothing of ours. Arguments: the means, the descriptor of a socket
that ends everything once it is closed, that of a pipe for the result, the name of the reporter's socket, and the
program's argv.

    walls        as `namespace`, and the program sees and takes no more than `WALLS` allows
    namespace    the program lives below the first process of a pid namespace; when that ends, the kernel kills all
    subreaper    every orphan becomes a child of this process, which kills its children until none is left

The result is written when all processes are gone: the exit code, negative for a signal, and then which walls the
program hit; or that the walls can't be built.
"""

import _signal as signal  # type: ignore[import-not-found] # `signal` takes longer to import than all the rest
import _socket
import ctypes
import os
import select
import sys

if __name__ != "__main__":
    from collections.abc import Callable
    from typing import Any

    from supervisor.verification.tracing.tracer import Tracer
    from supervisor.verification.trials.ending import end_all, reaped
    from supervisor.verification.walls.enclosing import (
        Sealed,
        Unbuilt,
        become,
        build,
        keep_descriptors,
        leave_host,
        mount,
        write_map,
    )
    from supervisor.verification.walls.watching import EVERY_SECONDS, Watch, limit_processes

#: set at the head of the text
WALLS: dict[str, Any] = globals().get("WALLS", {})
#: likewise; not empty if the files that the program opens are to be noted
TRACE: dict[str, Any] = globals().get("TRACE", {})

_KILL_CHILD_ON_DEATH, _SUBREAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER
_PRIVATE = 0x4000 | 0x40000  # MS_REC | MS_PRIVATE
_PROC_FLAGS = 2 | 4 | 8  # MS_NOSUID | MS_NODEV | MS_NOEXEC
#: of the program: processes that launch agents, or that end the program, have priority
_NICE = 5

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    means, control, report, hears, *argv = sys.argv[1:]
    keep_descriptors()
    ways = {"walls": _in_walls, "namespace": _in_namespace, "subreaper": _as_subreaper}
    try:
        said = ways[means](int(control), argv, hears)
    except Unbuilt as problem:
        said = f"unbuilt {problem}"
    os.write(int(report), str(said).encode())


def _listen(control: int, name: str) -> None:
    """Opens the reporter's socket, which has to be in the program's network, and hands it to the daemon."""
    if not name:
        return
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    listener.bind(b"\0" + name.encode())
    listener.listen(1)
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, control)
    number = listener.fileno().to_bytes(4, sys.byteorder)
    line.sendmsg([b"!"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, number)])
    line.detach()
    listener.close()


# --- namespaces


def _in_walls(control: int, argv: list[str], hears: str) -> str:
    leave_host(os.getuid(), os.getgid(), network=WALLS["network"])
    return _below_first(control, argv, hears, _first_in_walls)


def _in_namespace(control: int, argv: list[str], hears: str) -> str:
    user, group = os.getuid(), os.getgid()
    flags = os.CLONE_NEWPID | os.CLONE_NEWNS
    os.unshare(flags if user == 0 else flags | os.CLONE_NEWUSER)
    if user:
        write_map("/proc/self/setgroups", "deny")
        write_map("/proc/self/uid_map", f"{user} {user} 1")
        write_map("/proc/self/gid_map", f"{group} {group} 1")
    mount("none", "/", None, _PRIVATE)
    return _below_first(control, argv, hears, _first_process)


def _below_first(control: int, argv: list[str], hears: str, be_first: Callable[[list[str], int], None]) -> str:
    _listen(control, hears)
    told, telling = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(control)
        os.close(told)
        be_first(argv, telling)
        os._exit(0)
    os.close(telling)
    _let_go()
    if not _ended(first, control):
        os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    return os.read(told, 1000).decode() or str(-signal.SIGKILL)


def _first_process(argv: list[str], telling: int) -> None:
    """Process 1 of the namespace: it adopts orphans, and ends with the program."""
    _libc.prctl(_KILL_CHILD_ON_DEATH, signal.SIGKILL, 0, 0, 0)
    mount("proc", "/proc", "proc", _PROC_FLAGS)
    _number_as_elsewhere()
    program, tracer = _start(argv)
    _let_go()
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == program:
            _tell(tracer)
            os.write(telling, str(os.waitstatus_to_exitcode(status)).encode())
            return


def _first_in_walls(argv: list[str], telling: int) -> None:
    """Process 1 inside walls: it also watches what the program takes."""
    _libc.prctl(_KILL_CHILD_ON_DEATH, signal.SIGKILL, 0, 0, 0)
    try:
        build(WALLS)
        os.chdir(WALLS["cwd"])
        sealed = Sealed(os.getuid(), os.getgid(), WALLS["outer"])
        watch = Watch(WALLS["limits"])
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        _number_as_elsewhere()
        program, tracer = _start(argv, sealed, hears=sys.argv[4])
    except (OSError, Unbuilt) as error:
        os.write(telling, f"unbuilt {error}".encode())
        return
    _let_go()
    code, hit = None, ""
    while code is None and not hit:
        signal.sigtimedwait([signal.SIGCHLD], EVERY_SECONDS)
        code = reaped(program)
        hit = watch.exceeded() if code is None else ""
    _tell(tracer)
    os.write(telling, " ".join([str(-signal.SIGKILL if code is None else code), hit, *watch.facts()]).encode())


def _number_as_elsewhere() -> None:
    """Starts process ids where they are on a machine in use: small ones would reveal a trial."""
    start = 1000 + int.from_bytes(os.urandom(2), sys.byteorder) % 29_000
    try:
        write_map("/proc/sys/kernel/ns_last_pid", str(start))
    except OSError:  # a kernel without checkpoints
        return


# --- a subreaper


def _as_subreaper(control: int, argv: list[str], hears: str) -> int:
    _listen(control, hears)
    _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    program, tracer = _start(argv)
    _let_go()
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waking, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    code = reaped(program)
    while code is None:
        ready = select.select([control, waking], [], [])[0]
        if control in ready:
            break
        os.read(waking, 100)
        code = reaped(program)
    final = end_all(program)
    _tell(tracer)
    return code if code is not None else final if final is not None else -signal.SIGKILL


# --- both


def _start(argv: list[str], sealed: Sealed | None = None, *, hears: str = "") -> tuple[int, Tracer | None]:
    tracer = Tracer(TRACE) if TRACE else None
    program = os.fork()
    if program == 0:
        _become(argv, tracer, sealed, hears)
    if sealed is not None:
        sealed.let(program)
    if tracer is not None:
        tracer.begin()
    return program, tracer


def _become(argv: list[str], tracer: Tracer | None, sealed: Sealed | None, hears: str) -> None:
    try:
        os.setsid()
        _stand_back()
        if sealed is not None:
            limit_processes(WALLS["limits"]["processes"])
            sealed.enter(is_scoped=WALLS["network"] and not hears)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        _libc.prctl(_KILL_CHILD_ON_DEATH, signal.SIGKILL, 0, 0, 0)
        for each in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(each, signal.SIG_DFL)
        if tracer is not None:
            tracer.give()
        become(argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _tell(tracer: Tracer | None) -> None:
    if tracer is not None:
        tracer.tell()


def _stand_back() -> None:
    """Many kernels divide processor time among sessions: there, niceness counts only within a session."""
    os.nice(_NICE)
    try:
        with open("/proc/self/autogroup", "w") as file:  # noqa: PTH123
            file.write(str(_NICE))
    except OSError:
        pass  # the kernel does not, or refuses because others asked a moment ago


def _let_go() -> None:
    """Gives up the program's input and output, so that its readers see end of file."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nothing, each)


def _ended(process: int, control: int) -> bool:
    """Whether the process ended before the daemon asked to end everything."""
    watched = os.pidfd_open(process)
    return watched in select.select([watched, control], [], [])[0]


if __name__ == "__main__":
    main()
