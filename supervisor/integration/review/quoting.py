"""Other people's words in a text that GitHub shows.

GitHub obeys what stands there: `@name` calls a person, `fixes #1` closes an issue, a picture is fetched, HTML is
shown. So such words are one line of escaped text in which references are broken by an invisible space.
"""

import re

from supervisor.integration.rules.messages import unlinked

MOST_WORDS = 300

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")


def defused(words: str, most: int = MOST_WORDS) -> str:
    """One line that says the same and does nothing."""
    told = " ".join("".join(char if char.isprintable() else " " for char in words).split())
    told = told if len(told) <= most else told[: most - 1] + "…"
    told = _MARKUP.sub(r"\\\1", unlinked(told))
    return told.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
