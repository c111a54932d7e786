"""OpenTelemetry's names for attributes of generative AI. They are not stable yet, so they are in this module only.

They are those of version 1.41 of its semantic conventions, whose `gen_ai.provider.name` was `gen_ai.system` before.
"""

from supervisor.kinds import kind_of
from supervisor.model.usage import Usage
from supervisor.observe.traces.span import Value, cleaned

OPERATION = "gen_ai.operation.name"
INVOKE_AGENT = "invoke_agent"
AGENT_ID, AGENT_NAME = "gen_ai.agent.id", "gen_ai.agent.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL, RESPONSE_MODEL = "gen_ai.request.model", "gen_ai.response.model"
INPUT, OUTPUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
CACHE_READ, CACHE_WRITTEN = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"

#: each provider's prefixes of model names, for kinds of agents that can use several providers
_MODELS = (("claude", "anthropic"), ("gpt", "openai"), ("o3", "openai"), ("o4", "openai"), ("gemini", "gcp.gemini"))


def agent(agent_id: str, kind: str) -> dict[str, Value]:
    return {OPERATION: INVOKE_AGENT, AGENT_ID: agent_id, AGENT_NAME: kind}


def spent(kind: str, usage: Usage) -> dict[str, Value]:
    """The conventions count cached tokens as input, too. The model that answered is the one that is known."""
    said: dict[str, Value] = {INPUT: usage.input + usage.cached, OUTPUT: usage.output, CACHE_READ: usage.cached}
    if usage.written:
        said[CACHE_WRITTEN] = usage.written
    if model := cleaned(usage.model):
        said |= {REQUEST_MODEL: model, RESPONSE_MODEL: model}
    if provider := _provider(kind, usage.model):
        said[PROVIDER] = provider
    return said


def _provider(kind: str, model: str) -> str:
    """`""`: it is not known."""
    named = next((provider for start, provider in _MODELS if model.startswith(start)), "")
    apis = kind_of(kind).apis if kind else ()
    return named or (apis[0] if len(apis) == 1 else "")
