"""What is noted does not depend on what a program is, and nobody waits for who notes it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from supervisor.verification.trials.running import tracing_lacks
from tests.verification.noted_ground import PYTHON, Ground, laid, said_by
from tests.verification.test_trial_processes import CHAINS, skip_without


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return laid(tmp_path)


C = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    struct stat state;
    struct open_how how = {.flags = O_RDONLY};
    int folder = open("lib", O_RDONLY | O_DIRECTORY);
    if (openat(folder, "one.sh", O_RDONLY) < 0) return 1;
    if (syscall(SYS_openat2, folder, "../data.txt", &how, sizeof how) < 0) return 2;
    if (fstatat(folder, "nothing", &state, 0) == 0) return 3;
    if (syscall(SYS_io_uring_setup, 1, &how) >= 0) return 4;
    return execlp("./tool.sh", "tool.sh", (char *)0);
}
"""


@pytest.mark.parametrize("linked", ["-dynamic", "-static"])
async def test_a_compiled_program_is_seen_also_where_nothing_can_be_loaded_into_it(
    linked: str, ground: Ground
) -> None:
    compiled(ground, [linked] if linked == "-static" else [])
    found = await ground.noted("./tool")
    assert found.opened == {"lib/one.sh", "data.txt", "tool.sh"}
    assert found.run == {"tool", "tool.sh"}
    assert (set(found.listed), set(found.asked)) == ({"lib"}, {"lib/nothing"})


def compiled(ground: Ground, flags: list[str]) -> None:
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("there is no compiler")
    source = ground.folder / "tool.c"
    source.write_text(C)
    subprocess.run([compiler, *flags, "-o", ground.checkout / "tool", source], check=True, timeout=60)


async def test_node_is_seen(ground: Ground) -> None:
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    found = await ground.noted("node tool.js")
    assert {"tool.js", "data.txt", "lib/one.js"} <= found.opened
    assert {"lib/one", "package.json"} <= found.asked, "what it looked for first"


@pytest.mark.parametrize("means", ["namespace", "subreaper"])
@pytest.mark.parametrize("way", CHAINS)
async def test_who_forks_without_end_is_noted_and_caught(way: str, means: str, ground: Ground) -> None:
    """Each process of the chain opens a file of its own."""
    chain = f"import os, time\n{CHAINS[way].replace('pass', '''open(\"data.txt\").close()''')}\nos._exit(0)"
    ended = await ground.run(f"{PYTHON} '{chain}'; cat lib/one.sh; exit 7", means, timeout=90)
    assert ended.code == 7
    assert ended.traced is not None
    assert "lib/one.sh" in ended.traced.opened


async def test_many_at_a_time_are_noted(ground: Ground) -> None:
    many = " ".join(f"(for i in 1 2 3 4 5; do cat data.txt nothing{n} 2>&1; done) &" for n in range(40))
    found = await ground.noted(f"{many} wait")
    assert found.asked == {f"nothing{n}" for n in range(40)}


async def test_with_its_keeper_the_tracer_dies_and_nobody_waits_for_it(ground: Ground) -> None:
    """Where the program can kill it: the run is lost, as without notes."""
    ended = await ground.run("kill -9 $PPID; cat data.txt; sleep 30", "subreaper", timeout=20)
    assert (ended.code, ended.is_lost) == (None, True)
    assert ended.traced is not None
    assert ended.traced.lacks


SIGNALLED = """
import ctypes, os, signal
signal.signal(signal.SIGALRM, lambda *_: None)
libc, ended = ctypes.CDLL(None, use_errno=True), 0
signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
while not ended:
    number = libc.open(b"data.txt", 0)
    ended += number < 0 and ctypes.get_errno() == 4
    number < 0 or libc.close(number)
signal.setitimer(signal.ITIMER_REAL, 0)
os.close(os.open("lib/one.sh", os.O_RDONLY))
"""


async def test_a_call_that_a_signal_ends_before_it_is_told_is_missed(ground: Ground) -> None:
    """The kernel's numbers show it."""
    (ground.folder / "beside/signalled.py").write_text(SIGNALLED)
    ended = await ground.run(f"{sys.executable} -I $BESIDE/signalled.py")
    assert ended.code == 0, ended
    assert ended.traced is not None
    assert ended.traced.interrupted >= 1


#: the program opens a file again and again, in a process of its own; what notes it is in another one, and is killed
KILLED = """
import os, signal, sys
from supervisor.verification.tracing.tracer import Tracer
tracer = Tracer({"root": os.getcwd(), "marker": "/marker", "notes": -1})
opened, opens = os.pipe()
program = os.fork()
if program == 0:
    tracer.give()
    try:
        while True:
            os.close(os.open("data.txt", os.O_RDONLY))
            os.write(opens, b".")
    except OSError as error:
        os._exit(error.errno)
notes = os.fork()
if notes == 0:
    tracer.begin()
    signal.pause()
del tracer
os.read(opened, 1)
os.kill(notes, signal.SIGKILL)
os.close(opened)
os.set_blocking(opens, False)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
for each in (notes, program):
    _, status = os.waitpid(each, 0)
print(os.waitstatus_to_exitcode(status))
"""


async def test_without_a_tracer_the_kernel_refuses_and_programs_end(ground: Ground) -> None:
    if lacks := await tracing_lacks():
        pytest.skip(f"nobody is told here what is opened: {lacks}")
    assert said_by(KILLED, ground.checkout) == "38\n"


UNKNOWN = {
    "another root": (
        f'{PYTHON} \'import os; os.chroot("lib"); open("/one.sh")\'',
        "it calls chroot, after which its paths lead elsewhere",
    ),
    "another root, of one call": (
        f'{PYTHON} \'import ctypes, struct; how = struct.pack("QQQ", 0, 0, 16);'
        ' print(ctypes.CDLL(None).syscall(437, -100, b"/data.txt", how, 24))\'',
        "it opens files within another root",
    ),
}


@pytest.mark.parametrize("way", UNKNOWN)
async def test_what_can_t_be_followed_makes_it_unknown(way: str, ground: Ground) -> None:
    script, why = UNKNOWN[way]
    ended = await ground.run(f"{script} || true", "namespace")
    assert ended.traced is not None
    assert ended.traced.unknown == why


async def test_what_a_program_of_before_opens_nobody_sees(ground: Ground) -> None:
    """One that was started by the run is seen itself."""
    server = (
        f'{PYTHON} \'import socket; s = socket.socket(socket.AF_UNIX); s.bind("%s"); s.listen();'
        " print(flush=True); s.accept()'"
    )
    client = f"{PYTHON} 'import socket; socket.socket(socket.AF_UNIX).connect(\"%s\")'"
    own = f"{server % 'own'} & until {client % 'own'} 2> /dev/null; do :; done; wait"
    assert (await ground.noted(own)).unknown == ""
    with listening(server % "other", ground.checkout):
        ended = await ground.run(client % "other")
    assert ended.traced is not None
    assert ended.traced.unknown == f"it talks to a program that was there before, at {ground.checkout / 'other'}"


@contextmanager
def listening(script: str, folder: Path) -> Iterator[None]:
    with subprocess.Popen(["sh", "-c", script], cwd=folder, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        yield


#: `seccomp` is refused, as by a kernel that has not got it
OLDER = """
import anyio, ctypes, os, struct
from supervisor.verification.tracing.filtering import MACHINES
from supervisor.verification.trials.running import tracing_lacks
number = MACHINES[os.uname().machine][1]
text = b"".join(struct.pack("HBBI", *each) for each in
    ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7FFF0000)))
held = ctypes.create_string_buffer(text, len(text))
kernel = ctypes.CDLL(None)
kernel.prctl(38, 1, 0, 0, 0)
assert kernel.prctl(22, 2, struct.pack("HxxxxxxP", 4, ctypes.addressof(held)), 0, 0) == 0
print(anyio.run(tracing_lacks))
"""


def test_a_kernel_that_can_t_tell_is_told_of(tmp_path: Path) -> None:
    assert said_by(OLDER, tmp_path) == "the kernel tells no files: Function not implemented\n"


#: nobody's keeper, by each means; root's interpreter is loaded before
NOBODY = """
import ctypes, json, os, sys
from supervisor.verification.tracing import tracer
from supervisor.verification.trials import keeper
control, report, notes, means = *map(int, sys.argv[1:4]), sys.argv[4]
keeper.TRACE = {"root": os.getcwd(), "marker": "/marker", "notes": notes}
sys.argv[1:] = [means, str(control), str(report), "", "sh", "-c", "id -u; ./tool.sh; cat < data.txt; [ -e nothing ]"]
os.setgroups([]); os.setgid(65534); os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
keeper.main()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("means", ["namespace", "subreaper"])
async def test_who_is_not_root_is_told_as_well(means: str) -> None:
    await skip_without(means)
    with tempfile.TemporaryDirectory() as folder:
        ground = laid(Path(folder))
        ground.folder.chmod(0o755)
        said, told = as_nobody(ground, means)
    assert said.split()[:1] == ["65534"], said
    assert told == (
        '{"lacks": "", "unknown": "", "interrupted": 0, "notes": [["asked", "nothing"], ["open", "data.txt"],'
        ' ["open", "lib/one.sh"], ["open", "tool.sh"], ["run", "tool.sh"]]}'
    )


def as_nobody(ground: Ground, means: str) -> tuple[str, str]:
    """What it printed, and what its keeper told."""
    control, report, notes = os.pipe(), os.pipe(), os.memfd_create("notes")
    numbers = (control[0], report[1], notes)
    argv = [sys.executable, "-c", NOBODY, *map(str, numbers), means]
    said = subprocess.run(argv, pass_fds=numbers, cwd=ground.checkout, capture_output=True, text=True, timeout=60)
    for each in (*control, *report):
        os.close(each)
    told = os.pread(notes, 2**20, 0).decode()
    os.close(notes)
    return said.stdout + said.stderr, told
