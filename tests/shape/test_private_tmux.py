"""One module ends tmux servers, because it is the one that knows which are ours."""

from tests.shape.sources import kept, read

MODULE = "supervisor/adapters/private_tmux.py"
#: in two parts, so that this test does not find itself
ENDING = "kill" + "-server"


def test_only_one_module_ends_tmux_servers() -> None:
    """Anywhere else it may be the user's: tmux goes by TMUX, and by /tmp where TMUX_TMPDIR does not exist."""
    assert [path for path in kept() if ENDING in read(path) and path != "CHANGELOG.md"] == [MODULE]
