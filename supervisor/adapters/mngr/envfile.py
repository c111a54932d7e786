"""Writes an env file whose values reach the agent verbatim.

A value is read three times. mngr parses the file with python-dotenv, which expands `${NAME}` and interprets backslash
escapes in double quotes. mngr writes the result to the agent's `env` file: in double quotes only if it holds a blank,
a quote or a newline, and with only the double quote escaped. Then a shell sources that file. So `for_shell` makes the
text that a shell reads as the value, and `for_dotenv` writes the text that dotenv reads as that one. A shell drops a
backslash before a newline; here this pair makes mngr quote, separates `$` from `{`, and keeps a backslash away from
the closing quote, where dotenv would take both for an escaped quote.
"""

import re
from collections.abc import Mapping

from supervisor.errors import MngrFailed

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: means the same in all three readings
PLAIN = re.compile(r"[A-Za-z0-9_./:=@%+,-]*\Z")
#: what makes mngr write a value in double quotes
QUOTED = re.compile(r"[ \"'\n]")
NOTHING = "\\\n"
DOTENV_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def env_file(values: Mapping[str, str], in_state_dir: Mapping[str, str]) -> str:
    """The file's text; `in_state_dir` are paths below the agent's own state directory, wherever that is."""
    texts = {name: for_shell(_checked(name, value)) for name, value in values.items()}
    for name, value in in_state_dir.items():
        path = for_shell("/" + _checked(name, value))
        texts[name] = "$MNGR_AGENT_STATE_DIR" + path
    return "".join(f"{name}={for_dotenv(text)}\n" for name, text in texts.items())


def for_shell(value: str) -> str:
    if PLAIN.match(value):
        return value
    text = re.sub(r"([\\$`])", r"\\\1", value).replace("${", "$" + NOTHING + "{")
    if text.endswith("\\") or not QUOTED.search(text):
        text += NOTHING
    return text


def for_dotenv(text: str) -> str:
    return f'"{text.translate(DOTENV_ESCAPES)}"'


def _checked(name: str, value: str) -> str:
    if not NAME.match(name):
        raise MngrFailed(f"{name!r} can't be the name of an environment variable.", reason="refused")
    if "\0" in value:
        raise MngrFailed(f"The value of {name} holds a NUL, which no environment can.", reason="refused")
    return value
