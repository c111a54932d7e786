"""What a test, and `setup`, reach of the network from inside of their walls, and what is said of it."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.verification.trials.asking import Unready
from tests.verification.enclosed import attacked, enclosed


async def test_the_daemon_is_not_spoken_to(tmp_path: Path) -> None:
    """Neither on its socket, nor on one without a file, nor on a port of this machine."""
    with listening(tmp_path) as addresses:
        body = (
            "reached = []\n"
            f"for family, address in {[(int(family), address) for family, address in addresses]!r}:\n"
            "    try:\n        socket.socket(family).connect(address)\n        reached.append(address)\n"
            "    except OSError:\n        pass\n"
            "assert reached"
        )
        async with enclosed(tmp_path) as here:
            walled = await attacked(here, body)
            open_ = await attacked(here, body, sandbox_network="always")

    assert walled.why_not.startswith("it fails: assert []"), walled.why_not
    assert open_.passed, open_.why_not


@contextmanager
def listening(folder: Path) -> Iterator[list[tuple[int, Any]]]:
    name = f"\0supervisor-{os.getpid()}-{os.urandom(4).hex()}"
    named = (socket.AF_UNIX, str(folder / "ctl.sock"))
    places: list[tuple[int, Any]] = [named, (socket.AF_UNIX, name), (socket.AF_INET, ("127.0.0.1", 0))]
    opened = []
    try:
        for family, address in places:
            line = socket.socket(family)
            opened.append(line)
            line.bind(address)
            line.listen()
        (folder / "ctl.sock").chmod(0o777)
        yield [*places[:2], (socket.AF_INET, opened[2].getsockname())]
    finally:
        for line in opened:
            line.close()


async def test_who_needs_the_network_hears_so(tmp_path: Path) -> None:
    """An address and a name; a server of its own is found, by address and by name."""
    own = (
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(('localhost', server.getsockname()[1]), 5)\n"
        "server = socket.create_server(('::1', 0), family=socket.AF_INET6)\n"
        "socket.create_connection(server.getsockname()[:2], 5)\n"
    )
    async with enclosed(tmp_path) as here:
        runs = [
            await attacked(here, own),
            await attacked(here, own + "socket.create_connection(('198.51.100.1', 80), 5)"),
            await attacked(here, "socket.create_connection(('packages.example.org', 443), 5)"),
            await attacked(here, "assert False"),
        ]

    told = "it tried to reach the network, which the profile does not give (`sandbox_network`)"
    assert [run.missed for run in runs] == ["", told, told, ""]
    assert runs[0].passed, runs[0].why_not
    assert all(told in run.why_not for run in runs[1:3])


ABSTRACT = "{python} -c 'import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + \"{name}\")'"


async def test_setup_has_the_network_unless_the_profile_forbids_it(tmp_path: Path) -> None:
    with listening(tmp_path) as addresses:
        _, (host, port) = addresses[-1]
        setup = f"{sys.executable} -c 'import socket; socket.create_connection((\"{host}\", {port}))'"
        async with enclosed(tmp_path) as here:
            run = await attacked(here, "pass", setup=setup)
            with pytest.raises(Unready, match="its setup failed: ConnectionRefusedError"):
                await attacked(here, "pass", setup=setup, sandbox_network="never")

    assert run.passed, run.why_not


async def test_setup_with_the_network_reaches_no_socket_without_a_file(tmp_path: Path) -> None:
    """Such as a desktop's."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        pytest.skip("this kernel can't keep them apart")
    with listening(tmp_path) as addresses:
        setup = ABSTRACT.format(python=sys.executable, name=addresses[1][1][1:])
        async with enclosed(tmp_path) as here:
            with pytest.raises(Unready, match="its setup failed: PermissionError"):
                await attacked(here, "pass", setup=setup)
