"""What pytest wants to know at the root of the tests only."""

import signal
import threading
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

from supervisor.adapters.private_tmux import leave_the_users_tmux
from tests import leaks, lengths, zygote
from tests.properties import FEW, is_long

pytest_plugins = ["pytester"]
#: what proofs of several kinds of agents have in common
pytest.register_assert_rewrite("tests.scripted")

# Who starts the tests in the background of a script has SIGINT ignored, and so would all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
leave_the_users_tmux()
settings.load_profile(FEW)  # unless `--hypothesis-profile` says otherwise


def pytest_configure(config: pytest.Config) -> None:
    leaks.begin(config.pluginmanager)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    zygote.end()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    leaks.end()


@pytest.hookimpl(tryfirst=True)  # before they are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seconds = lengths.known()

    def length(item: pytest.Item) -> int:
        return seconds.get(item.path.as_posix().removeprefix(f"{Path(__file__).parent}/"), 0)

    for item in items:
        if is_long() and is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("proof")
        if length(item):
            item.add_marker("long")
    items.sort(key=length, reverse=True)
