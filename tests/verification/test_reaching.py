"""What a test that an agent wrote reaches of this machine from inside of its walls: nothing that is not its own."""

import ctypes
import os
import sys
from pathlib import Path

import pytest

from tests.verification.arena import Arena
from tests.verification.enclosed import ATTACK, attacked, enclosed
from tests.verification.staying import Stayer


def secrets(here: Arena, home: Path) -> dict[str, Path]:
    """What lies on the machine of the daemon's, its user's, and other agents'."""
    state = here.folder / "state"
    here.folder.chmod(0o755)
    places = {
        "the journal": state / "journal.sqlite3",
        "the state of another job": state / "batches/b/attempts/2-1/prompt",
        "another clone": state / "home/.mngr/copies/agent-1/app.py",
        "another trial": state / "hosts-of-others/1/app.py",
        "the user's home": home / ".ssh/id_ed25519",
        "credentials": here.folder / "credentials/api-key",
    }
    for place in places.values():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("secret\n")
        place.chmod(0o666)
    return places


async def test_nothing_of_the_daemons_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    async with enclosed(tmp_path) as here:
        named = [str(each) for each in secrets(here, home).values()]
        run = await attacked(here, f"assert [each for each in {named!r} if os.path.exists(each)]")

    assert run.why_not.startswith("it fails: assert []"), run.why_not


async def test_what_is_private_stays_so_where_the_profile_shows_what_is_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    async with enclosed(tmp_path) as here:
        places = secrets(here, home)
        shown = places.pop("credentials")
        named = [str(each) for each in places.values()]
        body = f"assert os.path.exists({str(shown)!r})\nassert [each for each in {named!r} if os.path.exists(each)]"
        run = await attacked(here, body, sandbox_read=(str(tmp_path),))

    assert run.why_not.startswith("it fails: assert []"), run.why_not


async def test_of_the_users_checkout_only_what_is_tried_is_seen(tmp_path: Path) -> None:
    """In its place stands what is committed, so that an import from there is found out."""
    async with enclosed(tmp_path) as here:
        body = (
            f"    import os\n    assert 'app.py' in os.listdir('{here.repo}')\n    open('{here.repo}/.env').read()\n"
        )
        async with here.trial({"test_attack.py": f"def test_attack():\n{body}"}) as trial:
            (here.repo / ".env").write_text("secret\n")
            run = await trial.run(ATTACK)

    assert run.why_not.startswith("it fails: FileNotFoundError"), run.why_not


async def test_what_is_shown_can_be_read_and_no_more(tmp_path: Path) -> None:
    async with enclosed(tmp_path) as here:
        data = here.notes
        (data / "words").write_text("one\n")
        body = f"assert open('{data}/words').read() == 'one\\n'\nopen('{data}/more', 'w')"
        run = await attacked(here, body, sandbox_read=(str(data),), sandbox_write=())

    assert "Read-only file system" in run.why_not, run.why_not


@pytest.mark.parametrize(("shown", "elsewhere"), [("a", "b"), ("b", "a")])
async def test_what_is_named_by_a_link_can_be_read_wherever_the_link_leads(
    tmp_path: Path, shown: str, elsewhere: str
) -> None:
    """The folder that holds the link may be seen before or after what the link leads to."""
    async with enclosed(tmp_path) as here:
        words = here.notes / elsewhere / "words"
        link = here.notes / shown / "link"
        for each in (words, link):
            each.parent.mkdir()
        words.write_text("one\n")
        link.symlink_to(words)
        body = f"assert open('{link}').read() == 'one\\n'\nopen('{words}', 'w')"
        run = await attacked(here, body, sandbox_read=(str(link.parent), str(link)), sandbox_write=())

    assert "Read-only file system" in run.why_not, run.why_not


async def test_other_processes_are_not_seen(tmp_path: Path) -> None:
    async with enclosed(tmp_path) as here:
        run = await attacked(
            here,
            f"seen = [int(each) for each in os.listdir('/proc') if each.isdigit()]\n"
            f"assert not os.path.exists('/proc/{os.getpid()}/environ') or {os.getpid()} in seen\n"
            "programs = [pathlib.Path(f'/proc/{each}/cmdline').read_text() for each in seen if each != 1]\n"
            "assert all('pytest' in each or each.startswith('timeout') for each in programs), programs\n"
            "open('/proc/1/environ').read()\n",
        )

    assert run.why_not.startswith("it fails: PermissionError"), run.why_not
    assert "/proc/1/environ" in run.why_not


async def test_who_watches_is_neither_ended_nor_read_nor_limited(tmp_path: Path) -> None:
    """Process 1 is the last one that could be reached."""
    async with enclosed(tmp_path) as here:
        run = await attacked(
            here,
            "import resource, signal\n"
            "allowed = []\n"
            "def tried(name, deed):\n"
            "    try:\n        deed()\n        allowed.append(name)\n"
            "    except (OSError, ValueError):\n        pass\n"
            "tried('kill', lambda: os.kill(1, signal.SIGKILL))\n"
            "tried('fd', lambda: os.listdir('/proc/1/fd'))\n"
            "tried('mem', lambda: open('/proc/1/mem', 'r+b'))\n"
            "tried('more', lambda: resource.setrlimit(resource.RLIMIT_NPROC, (9999, 9999)))\n"
            "assert set(allowed) <= {'kill'}, allowed",
        )

    assert run.passed, run.why_not


async def test_nothing_outside_is_written(tmp_path: Path) -> None:
    async with enclosed(tmp_path) as here:
        objects = here.store.bare(here.repo) / "objects"
        places = [
            "/",
            "/usr",
            "/etc",
            "/opt",
            "/dev",
            "/run",
            str(here.repo),
            sys.prefix,
            str(objects),
            "/sys/devices",
        ]
        run = await attacked(
            here,
            "written = []\n"
            f"for each in {places!r}:\n"
            "    try:\n        open(os.path.join(each, 'owned'), 'w').close()\n        written.append(each)\n"
            "    except OSError:\n        pass\n"
            "assert not written, written",
        )
        assert list(here.repo.glob("**/owned")) == []

    assert run.passed, run.why_not


async def test_no_right_is_gained(tmp_path: Path) -> None:
    """Not by a program that belongs to root, not by mounting, and a user namespace of its own moves no wall."""
    async with enclosed(tmp_path) as here:
        run = await attacked(
            here,
            "import ctypes\n"
            "status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())\n"
            "rights = {name: int(status[name], 16) for name in ('CapEff', 'CapPrm', 'CapInh', 'CapAmb', 'CapBnd')}\n"
            "assert set(rights.values()) == {0}, rights\n"
            "assert status['NoNewPrivs'].strip() == '1'\n"
            "c = ctypes.CDLL(None)\n"
            "assert c.mount(b'none', b'/tmp', b'tmpfs', 0, None) == -1\n"
            "assert c.umount2(b'/etc', 2) == -1\n"
            "assert c.unshare(0x10000000 | 0x00020000) == 0, 'a browser makes these'\n"
            "for each in ('/etc', '/usr', '/tmp'):\n    assert c.umount2(each.encode(), 2) == -1, each\n"
            "assert c.mount(b'none', b'/etc', None, 32 | 4096, None) == -1, 'it can be written to'\n",
        )

    assert run.passed, run.why_not


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_roots_program_is_nobody_outside(tmp_path: Path) -> None:
    async with enclosed(tmp_path) as here:
        note = here.notes / "made"
        run = await attacked(
            here, f"assert os.getuid() == os.getgid() == 0\nopen({str(note)!r}, 'w')\nos.chown('.', 0, 0)"
        )

        assert run.passed, run.why_not
        assert note.stat().st_uid == 65534


async def test_who_wants_to_stay_is_gone(tmp_path: Path) -> None:
    async with enclosed(tmp_path) as here:
        stayer = Stayer(here.notes)
        run = await attacked(
            here,
            f"subprocess.run(['setsid', '-f', 'env', '-i', *{stayer.argv!r}], close_fds=True)\n"
            f"while not os.path.exists({str(stayer.note)!r}):\n    time.sleep(0.02)\n",
        )

        assert run.passed, run.why_not
        assert stayer.is_gone


SECRET = b"supervisor-test"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of these calls are those of x86-64")
async def test_the_daemons_keyring_is_not_its_own(tmp_path: Path) -> None:
    add_key, keyctl, session, revoke, read = 248, 250, -3, 3, 11
    c = ctypes.CDLL(None)
    key = c.syscall(add_key, b"user", SECRET, SECRET, len(SECRET), session)
    if key < 0:
        pytest.skip("there are no keyrings here")
    try:
        async with enclosed(tmp_path) as here:
            body = f"import ctypes\nassert ctypes.CDLL(None).syscall({keyctl}, {read}, {key}, None, 0) == {{}}"
            walled = await attacked(here, body.format(-1))
            bare = await attacked(here, body.format(len(SECRET)), sandbox="off")
    finally:
        c.syscall(keyctl, revoke, key)

    assert (walled.why_not, bare.why_not) == ("", "")


async def test_the_tool_chain_works(tmp_path: Path) -> None:
    """git on the checkout and its borrowed objects, a terminal, semaphores, devices."""
    async with enclosed(tmp_path) as here:
        run = await attacked(
            here,
            "subprocess.run(['git', 'log', '-1', '-p'], check=True)\n"
            "subprocess.run(['git', 'commit', '--allow-empty', '-qm', 'x'], check=True, env=os.environ | {\n"
            "    f'GIT_{who}_{what}': 'a' for who in ('AUTHOR', 'COMMITTER') for what in ('NAME', 'EMAIL')})\n"
            "import multiprocessing, pty\n"
            "assert os.isatty(pty.openpty()[1])\n"
            "with multiprocessing.Pool(2) as pool:\n    assert pool.map(abs, [-1]) == [1]\n"
            "for each in ('null', 'zero', 'urandom', 'fd/0', 'stdin'):\n    open(f'/dev/{each}').close()\n"
            "assert tempfile.gettempdir() == os.environ['TMPDIR']\n",
        )

    assert run.passed, run.why_not
