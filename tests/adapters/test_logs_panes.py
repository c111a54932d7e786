"""What is seen of a dialog on an agent's screen, which leaves no other mark."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from supervisor.adapters.logs.panes import Panes
from supervisor.adapters.private_tmux import PrivateTmux
from supervisor.kinds import kind_of
from tests.waiting import until_sync

DIALOG = "We're changing auto mode.\n\n  Enter to continue · Esc to cancel"
#: it was answered, and is above what claude shows of itself
PAST = f"{DIALOG}\n────\n❯\n────\n  ⏵⏵ auto mode on (shift+tab to cycle)"


@contextmanager
def screens(folder: Path, shown: dict[str, str]) -> Iterator[Panes]:
    """A tmux server with a pane for each agent."""
    tmux = PrivateTmux.below(folder)
    try:
        for agent, text in shown.items():
            (folder / agent).write_text(text)
            tmux.run("new-session", "-d", "-s", agent, f"cat {folder / agent}; exec sleep 60").check_returncode()
            tmux.run("set-option", "-p", "-t", agent, "@mngr_agent_id", agent).check_returncode()
        panes = Panes({**os.environ, "TMUX_TMPDIR": str(folder), "LC_ALL": "C.UTF-8"})
        for agent, text in shown.items():
            until_sync(f"{agent} shows its text", partial(_shows, panes, agent, text.splitlines()[-1].strip()))
        yield panes
    finally:
        tmux.end()


def _shows(panes: Panes, agent: str, line: str) -> bool:
    return line in panes.text(agent)


def test_a_screen_that_ends_with_a_dialog_asks_and_no_other_does(tmp_path: Path) -> None:
    shown = {
        "works": "It runs.",
        "asks": DIALOG,
        "has-answered": PAST,
        "permits": "Do you want it?\nEsc to cancel · Tab",
    }
    with screens(tmp_path, shown) as panes:
        ends = panes.last_lines([*shown, "nobody"])
        assert ends.keys() == shown.keys()
        dialog = kind_of("claude").dialog
        assert dialog is not None
        assert {agent for agent, line in ends.items() if dialog.search(line)} == {"asks", "permits"}
        assert (panes.last_lines(["works"]), panes.last_lines([])) == ({"works": "It runs."}, {})


def test_without_a_server_there_are_no_screens(tmp_path: Path) -> None:
    assert Panes({**os.environ, "TMUX_TMPDIR": str(tmp_path)}).last_lines(["anybody"]) == {}
