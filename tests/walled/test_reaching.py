"""What an agent reaches of this machine from inside of its walls; and what the same attack gets without them, so that
it is known to be one."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.walled.agents import attacking, found_by

pytestmark = [pytest.mark.real, pytest.mark.timeout(200)]

SECRET = "nobody else's"
BOTH = ("require", "off")


def laid_out(folder: Path, home: Path) -> dict[str, str]:
    """Files of the daemon's, its user's, and other agents'."""
    state = folder / "state"
    places = {
        "the state of another job": state / "batches/b/attempts/2-1/prompt.md",
        "another clone": state / "home/.mngr/copies/agent-0/app.py",
        "another agent's state": state / "home/.mngr/agents/agent-0/env",
        "mngr's own": state / "home/.mngr/profiles/secret",
        "the home of agents": state / "home/.netrc",
        "the user's home": home / ".ssh/id_ed25519",
        "credentials": folder / "credentials/api-key",
        "uncommitted": folder / "elsewhere/.env",
    }
    for place in places.values():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(SECRET)
        place.chmod(0o666)
    return {name: str(place) for name, place in places.items()}


@pytest.mark.parametrize("agent_walls", BOTH)
async def test_files_of_others_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent_walls: str
) -> None:
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    places = laid_out(tmp_path, home)
    body = f"for name, place in {places!r}.items():\n    tried(name, pathlib.Path(place).read_text)\n"
    body += (
        f"tried('the journal', lambda: 'read' if open({str(tmp_path / 'state/journal.sqlite3')!r}, 'rb') else '')\n"
    )
    found = await found_by(tmp_path, body, agent_walls=agent_walls)

    if agent_walls == "off":
        assert found == {**dict.fromkeys(places, SECRET), "the journal": "read"}
    else:
        assert set(found.values()) == {"FileNotFoundError"}


@contextmanager
def listening(folder: Path) -> Iterator[dict[str, str]]:
    """Where the daemon could be, with a file and without one."""
    addresses = {"its socket": str(folder / "ctl.sock"), "one without a file": f"\0walled-{os.urandom(8).hex()}"}
    opened = [socket.socket(socket.AF_UNIX) for _ in addresses]
    try:
        for line, address in zip(opened, addresses.values(), strict=True):
            line.bind(address)
            line.listen()
        (folder / "ctl.sock").chmod(0o777)
        yield addresses
    finally:
        for line in opened:
            line.close()


@pytest.mark.parametrize("agent_walls", BOTH)
async def test_nobody_else_is_spoken_to(tmp_path: Path, agent_walls: str) -> None:
    """Neither the daemon nor tmux, by which an agent would type into the panes of others. A server of its own is."""
    body = (
        "def connect(address):\n    socket.socket(socket.AF_UNIX).connect(address)\n"
        "for name, address in {addresses!r}.items():\n    tried(name, lambda: connect(address))\n"
        "tried('tmux', lambda: connect({tmux!r}))\n"
        "own = socket.create_server(('127.0.0.1', 0))\n"
        "tried('its own', lambda: socket.create_connection(own.getsockname(), 5) and 'reached')\n"
    )
    with listening(tmp_path) as addresses:
        tmux = str(tmp_path / f"state/tmux/tmux-{os.getuid()}/default")
        found = await found_by(tmp_path, body.format(addresses=addresses, tmux=tmux), agent_walls=agent_walls)

    assert found.pop("its own") == "reached"
    if agent_walls == "off":
        assert set(found.values()) == {""}
        return
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        del found["one without a file"]  # this kernel can't keep them apart
    assert found.pop("one without a file", "PermissionError") == "PermissionError"
    assert set(found.values()) == {"FileNotFoundError"}


@pytest.mark.parametrize("agent_walls", BOTH)
async def test_processes_of_others_are_not_there(tmp_path: Path, agent_walls: str) -> None:
    body = (
        f"tried('environment', lambda: 'read' if 'HOME' in open('/proc/{os.getpid()}/environ').read() else '')\n"
        f"tried('signal', lambda: os.kill({os.getpid()}, 0))\n"
        "tried('keeper', lambda: open('/proc/1/environ').read() and 'read')\n"
        "tried('memory', lambda: open('/proc/1/mem', 'r+b') and 'opened')\n"
    )
    found = await found_by(tmp_path, body, agent_walls=agent_walls)

    if agent_walls == "off":
        assert (found["environment"], found["signal"]) == ("read", "")
    else:
        assert (found["environment"], found["signal"]) == ("FileNotFoundError", "ProcessLookupError")
        assert (found["keeper"], found["memory"]) == ("PermissionError", "PermissionError")


async def test_nothing_outside_is_written_and_no_right_is_gained(tmp_path: Path) -> None:
    body = (
        "for place in ('/', '/usr', '/etc', '/opt', '/dev', '/run', '/sys/devices', sys.prefix):\n"
        "    tried(str(place), lambda: (pathlib.Path(place) / 'owned').write_text(''))\n"
        "for name in ('env', 'data.json', 'launch_agent.sh', 'walls.json'):\n"
        "    tried(name, lambda: (state / name).write_text('owned'))\n"
        "    tried(f'{name} moved', lambda: (state / name).rename(state / 'gone'))\n"
        "    tried(f'{name} removed', lambda: (state / name).unlink())\n"
        "tried('the kernel', lambda: open('/proc/sys/kernel/core_pattern', 'w').write('|/owned'))\n"
        "c = ctypes.CDLL(None)\n"
        "tried('mount', lambda: c.mount(b'none', b'/tmp', b'tmpfs', 0, None) and 1 / 0)\n"
        "tried('unmount', lambda: c.umount2(bytes(state / 'env'), 2) and 1 / 0)\n"
        "tried('unmount below', lambda: (c.unshare(0x10020000), c.umount2(bytes(state / 'env'), 2))[1] and 1 / 0)\n"
    )
    found = await found_by(tmp_path, body)

    assert [name for name, said in found.items() if said == ""] == []


async def test_its_own_places_can_be_written_and_its_tools_work(tmp_path: Path) -> None:
    body = (
        "home, temporary = pathlib.Path.home(), pathlib.Path(os.environ['TMPDIR'])\n"
        "for place in (home, temporary, clone, state, state / 'supervisor', pathlib.Path('/dev/shm'), notes):\n"
        "    tried(str(place), lambda: (place / 'mine').write_text(''))\n"
        "for place in (home, temporary, clone):\n"
        "    tried(f'link in {place}', lambda: (place / 'link').symlink_to('/nowhere'))\n"
        "os.unlink(clone / 'link'); os.unlink(clone / 'mine'); (state / 'folder').mkdir(); os.mkfifo(home / 'pipe')\n"
        "tried('moved', lambda: (state / 'mine').rename(state / 'folder' / 'mine') and '')\n"
        "def ran(*argv):\n    subprocess.run(argv, check=True, capture_output=True)\n"
        "tried('git', lambda: ran('git', 'commit', '--allow-empty', '-qm', 'mine'))\n"
        "tried('git gc', lambda: ran('git', 'gc', '-q'))\n"
        "tried('reset', lambda: ran('git', 'reset', '-q', '--hard', 'HEAD^'))\n"
        "tried('pytest', lambda: ran(sys.executable, '-c', 'import pytest'))\n"
        "tried('terminal', lambda: ran('script', '-qec', 'tty', '/dev/null'))\n"
        "tried('tmux', lambda: ran('sh', '-c', 'tmux new-session -d sleep 9 && tmux kill-session'))\n"
    )
    found = await found_by(tmp_path, body)

    assert {name: said for name, said in found.items() if said} == {}


async def test_a_setup_has_the_walls_and_the_home_of_the_agent(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    setup = f'! cat {secret} && echo made >"$HOME/made"'
    found = await found_by(tmp_path, "tried('made', (pathlib.Path.home() / 'made').read_text)\n", setup=setup)

    assert found == {"made": "made\n"}


async def test_a_fork_bomb_ends_the_agent_and_nobody_else(tmp_path: Path) -> None:
    body = "tell('begun')\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    async with attacking(tmp_path, body, sandbox_processes=40) as (made, here):
        await made.told("begun")
        await here.finished()
        panes = made.box.tmux.run("list-sessions").stdout

    assert panes == ""
