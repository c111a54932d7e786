"""The opencode that `make setup-tests` installs, with a model of Anthropic's that answers elsewhere."""

import json

from tests.scripted.messages import Messages
from tests.scripted.office import KEY, ROOT, Program

MODEL = "anthropic/claude-sonnet-4-5"


def env(url: str) -> dict[str, str]:
    options = {"baseURL": f"{url}/v1"}
    config = {"model": MODEL, "small_model": MODEL, "provider": {"anthropic": {"options": options}}}
    return {"ANTHROPIC_API_KEY": KEY, "OPENCODE_CONFIG_CONTENT": json.dumps(config)}


PROGRAM = Program("opencode", ROOT / ".venv-opencode" / "bin" / "opencode", Messages, env)
