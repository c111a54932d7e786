"""Whatever program of a run opens or executes a file of the checkout, or looks for one, it is noted."""

from pathlib import Path

import pytest

from supervisor.verification.tracing.traced import Traced
from tests.verification.noted_ground import MEANS, PYTHON, Ground, laid


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return laid(tmp_path)


@pytest.mark.parametrize("means", MEANS)
async def test_what_shells_run_open_list_and_look_for_is_noted(means: str, ground: Ground) -> None:
    script = "./tool.sh; cat < data.txt; [ -f config ]; ls v1; cd lib; cat ../lib/two.sh; echo x > made; cat made"
    assert await ground.noted(script, means) == Traced(
        opened=frozenset(("lib/one.sh", "tool.sh", "data.txt", "lib/two.sh", "lib/made")),
        run=frozenset(("tool.sh",)),
        listed=frozenset(("v1",)),
        asked=frozenset(("config", "lib", "v1")),
    )


OPENS = {
    "a link, and what it leads to": ("cat link", {"link", "data.txt"}),
    "a file in a folder that is a link": ("cat current/a.txt", {"current", "v1/a.txt"}),
    "a link from elsewhere": ('ln -s "$PWD/data.txt" $BESIDE/x; cat $BESIDE/x', {"data.txt"}),
    "by a way round": ("cat lib/../v1/../data.txt", {"data.txt"}),
    "by the folder of the process": ("cat /proc/self/cwd/data.txt", {"data.txt"}),
    "from elsewhere": ('root=$PWD; cd /; cat "$root/data.txt"', {"data.txt"}),
    "from an open folder": (
        f'{PYTHON} \'import os; os.open("two.sh", os.O_RDONLY, dir_fd=os.open("lib", os.O_RDONLY))\'',
        {"lib/two.sh"},
    ),
    "from a folder that a process went to by its descriptor": (
        f'{PYTHON} \'import os; os.chdir(os.open("lib", os.O_RDONLY)); open("two.sh")\'',
        {"lib/two.sh"},
    ),
    "by a thread": (
        f"{PYTHON} 'import threading; t = threading.Thread(target=open, args=(\"data.txt\",)); t.start(); t.join()'",
        {"data.txt"},
    ),
    "by a process that was left alone": (
        "(setsid sh -c 'cat data.txt; : > left' &); until [ -e left ]; do :; done",
        {"data.txt"},
    ),
    "to read and to write": ("cat 1<> data.txt", {"data.txt"}),
    "under another name": ("mv data.txt new; cat new", {"data.txt", "new"}),
    "under a second name": ("ln data.txt new; cat new", {"data.txt", "new"}),
    "what a link says": ("readlink link", {"link"}),
    "a link to nowhere": ("cat dangling || true", {"dangling"}),
    "a link to itself": ("cat round || true", {"round"}),
    "a script of a program of its own": (
        'cp /bin/cat $BESIDE/cat; ln -s $BESIDE/cat inter; printf "#!$PWD/inter\\n" > new; chmod +x new; ./new',
        {"inter", "new"},
    ),
    "only written": ("echo x > data.txt; echo y >> lib/one.sh", set()),
}


@pytest.mark.parametrize("way", OPENS)
async def test_it_does_not_matter_how_a_file_is_named(way: str, ground: Ground) -> None:
    script, opened = OPENS[way]
    assert (await ground.noted(script)).opened == opened


async def test_a_folder_that_gets_another_name_is_told(ground: Ground) -> None:
    assert (await ground.noted("mv v1 v2")).moved == {"v1"}


async def test_nobody_waits_for_a_pipe_that_is_run_or_opened(ground: Ground) -> None:
    ended = await ground.run("mkfifo pipe; chmod +x pipe; ./pipe; (cat pipe &); echo x > pipe", timeout=30)
    assert ended.code == 0
    assert ended.traced is not None
    assert (set(ended.traced.run), ended.traced.unknown) == ({"pipe"}, "")


LOOKS = {
    "to read it": ("cat nothing || true", "nothing"),
    "to run it": ("./nothing || true", "nothing"),
    "in the path": ("PATH=$PWD/lib:$PATH; true; env nothing-such || true", "lib/nothing-such"),
    "in a folder that is not there": ("cat no/such/file || true", "no/such/file"),
    "where a link leads": ("cat dangling || true", "nowhere.txt"),
    "to go there": ("cd nothing || true", "nothing"),
    "from elsewhere": ('ln -s "$PWD" $BESIDE/x; cat $BESIDE/x/nothing || true', "nothing"),
}


@pytest.mark.parametrize("way", LOOKS)
async def test_what_was_looked_for_and_is_not_there_is_noted(way: str, ground: Ground) -> None:
    script, path = LOOKS[way]
    assert path in (await ground.noted(script)).asked
