"""`make picture`: record `supervisorctl follow` in a terminal while the demo runs, and draw a moment of it.

It is run by pytest for the terminal that the `e2e` fixture gives.
"""

from pathlib import Path

from manual import picture
from supervisor.e2e import E2e
from supervisor.e2e.ptys import Size

TARGET = Path(__file__).parents[1] / "docs" / "img" / "follow.svg"
SIZE = Size(112, 24)
DEMO_SECONDS = 3600.0


def test_a_picture_of_follow(e2e: E2e) -> None:
    with e2e.terminal("supervisorctl demo", size=SIZE, timeout=DEMO_SECONDS) as demo:
        demo.wait(timeout=DEMO_SECONDS)
    TARGET.write_text(picture.svg(demo.cast.path, "supervisorctl follow"))
