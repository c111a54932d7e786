"""The codex that `make setup-tests` installs, logged in by a key, with a provider of its own instead of OpenAI."""

from tests.scripted.office import KEY, ROOT, Program
from tests.scripted.responses import Responses


def env(url: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY}


def args(url: str) -> tuple[str, ...]:
    """It tries by itself for half a minute where nothing else is said."""
    tries = "request_max_retries = 2, stream_max_retries = 1"
    login = 'wire_api = "responses", requires_openai_auth = true'
    table = f'{{name = "Scripted", base_url = "{url}/v1", {login}, {tries}}}'
    return ("-c", 'model_provider="scripted"', "-c", f"model_providers.scripted={table}")


PROGRAM = Program("codex", ROOT / ".venv-codex" / "bin" / "codex", Responses, env, args)
