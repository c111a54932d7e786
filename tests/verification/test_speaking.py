"""Who is believed to speak: a process that is there, not a number that another one has by now."""

import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.verification.trials import speaking

NEW = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child")
PLAY = """
import importlib.util, os, pathlib, socket, sys, time

spec = importlib.util.spec_from_file_location("speaking", sys.argv[1])
speaking = importlib.util.module_from_spec(spec)
spec.loader.exec_module(speaking)
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0its name")
listener.listen()


def connects(stays):
    process = os.fork()
    if not process:
        line = socket.socket(socket.AF_UNIX)
        line.connect("\\0its name")
        if stays or not os.fork():  # who holds the line on is another one
            time.sleep(600)
        os._exit(0)
    return process


connects(True)
print(speaking.is_of_ours(listener.accept()[0]))
gone = connects(False)
os.waitpid(gone, 0)
line = listener.accept()[0]
print(speaking.is_of_ours(line))
pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(gone - 1))
another = os.fork() or time.sleep(600)
assert another == gone
print(speaking.is_of_ours(line))
"""


def test_one_that_has_ended_does_not_speak_even_if_its_number_is_given_again() -> None:
    if subprocess.run([*NEW, "test", "-w", "/proc/sys/kernel/ns_last_pid"], check=False).returncode:
        pytest.skip("no pid namespace can be made here")
    argv = [*NEW, sys.executable, "-c", PLAY, str(Path(speaking.__file__))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "False", "False"]
