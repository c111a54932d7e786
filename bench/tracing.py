"""What it costs a run that its files are noted, beside the same run without and beside what the kernel takes to ask.

That is the floor: a listener in C lets each call go on at once, where there is a compiler.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from supervisor.verification.tracing.filtering import instructions
from supervisor.verification.tracing.traced import Trace
from supervisor.verification.trials.running import run, tracing_lacks

TIMES = 9
PATH = os.environ.get("PATH", os.defpath)
TEST = (
    "import subprocess\n\n\ndef test_it():\n    assert subprocess.run(['sh', 'tool.sh'], stdout=-1).returncode == 0\n"
)
TOOL = ". ./lib.sh\nfor i in 1 2 3 4 5 6 7 8 9 10; do cat data.txt; [ -f nothing ] || true; done\n"
FILES = {"test_it.py": TEST, "tool.sh": TOOL, "lib.sh": "name=tool\n", "data.txt": "1\n"}
RUNS: Mapping[str, Sequence[str]] = {
    "true": ["true"],
    "a shell tool, 10 programs": ["sh", "tool.sh"],
    "pytest, one test of it": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
    "10,000 opens of a file": [sys.executable, "-c", "for _ in range(10_000): open('data.txt').close()"],
    "10,000 opens elsewhere": [sys.executable, "-c", "for _ in range(10_000): open('/etc/passwd').close()"],
}


async def main() -> None:
    if lacks := await tracing_lacks():
        sys.exit(f"the files of a run can't be noted here: {lacks}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name, text in FILES.items():
            (home / name).write_text(text)
        floor = built(home)
        for name, argv in RUNS.items():
            ways = {"not noted": (argv, None), "noted": (argv, Trace(home))}
            if floor is not None:
                ways["floor"] = ([str(floor), *argv], None)
            took = await compared(ways, home)
            print(f"{name:28}" + "".join(f"{way} {each:8.1f} ms   " for way, each in took.items()))


async def compared(ways: Mapping[str, tuple[Sequence[str], Trace | None]], home: Path) -> dict[str, float]:
    """Medians, in turns: other work on the machine meets all of them."""
    env = {"PATH": PATH, "HOME": str(home), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    took: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(TIMES):
        for way, (argv, trace) in ways.items():
            began = time.perf_counter()
            ended = await run(argv, cwd=home, env=env, timeout=60, trace=trace)
            took[way].append(1000 * (time.perf_counter() - began))
            assert ended.code == 0, ended
            assert trace is None or (ended.traced is not None and not ended.traced.unknown), ended
    return {way: statistics.median(each) for way, each in took.items()}


#: the same filter; it answers and looks at nothing
FLOOR = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <poll.h>
#include <unistd.h>

static struct sock_filter text[] = {
    FILTER
};

int main(int count, char **words) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    pid_t program = fork();
    if (program == 0) {
        struct sock_fprog given = {sizeof text / sizeof *text, text};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        int listener = syscall(SYS_seccomp, 1, 8 | 4 | 32, &given);
        char room[CMSG_SPACE(sizeof(int))] = {0};
        struct iovec byte = {"!", 1};
        struct msghdr said = {0, 0, &byte, 1, room, sizeof room, 0};
        struct cmsghdr *head = CMSG_FIRSTHDR(&said);
        head->cmsg_level = SOL_SOCKET; head->cmsg_type = SCM_RIGHTS; head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &listener, sizeof(int));
        sendmsg(pair[1], &said, 0);
        close(listener); close(pair[0]); close(pair[1]);
        execvp(words[1], words + 1);
        _exit(127);
    }
    char room[CMSG_SPACE(sizeof(int))], byte;
    struct iovec got = {&byte, 1};
    struct msghdr heard = {0, 0, &got, 1, room, sizeof room, 0};
    recvmsg(pair[0], &heard, 0);
    int listener;
    memcpy(&listener, CMSG_DATA(CMSG_FIRSTHDR(&heard)), sizeof(int));
    ioctl(listener, 0x40082104, 1);
    for (;;) {
        struct pollfd waits = {listener, POLLIN, 0};
        poll(&waits, 1, -1);
        if (waits.revents & POLLHUP) break;
        struct seccomp_notif notice; struct seccomp_notif_resp answer;
        memset(&notice, 0, sizeof notice); memset(&answer, 0, sizeof answer);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice)) continue;
        answer.id = notice.id; answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    int status;
    waitpid(program, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
"""


def built(folder: Path) -> Path | None:
    if (compiler := shutil.which("cc")) is None:
        return None
    text = ",\n    ".join(f"{{{', '.join(map(str, each))}}}" for each in instructions(os.uname().machine))
    source, program = folder / "floor.c", folder / "floor"
    source.write_text(FLOOR.replace("FILTER", text))
    subprocess.run([compiler, "-O2", "-o", program, source], check=True)
    return program


if __name__ == "__main__":
    anyio.run(main)
