"""An agent's usage according to its transcript: every message is counted once."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    #: tokens; those read from a cache are counted separately
    input: int = 0
    output: int = 0
    cached: int = 0
    tool_calls: int = 0
    #: failed tool calls, and errors of the model's provider
    errors: int = 0
    #: the last model that answered
    model: str = ""
    #: the part of `input` that was written to a cache
    written: int = 0
    #: for one attempt, the tokens of its conversation at the last request, answer included; 0: not known
    context: int = 0

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cached

    def __add__(self, other: "Usage") -> "Usage":
        return self._combined(other, +1, other.model or self.model, other.context or self.context)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._combined(other, -1, self.model, 0)

    def _combined(self, other: "Usage", sign: int, model: str, context: int) -> "Usage":
        return Usage(
            input=self.input + sign * other.input,
            output=self.output + sign * other.output,
            cached=self.cached + sign * other.cached,
            tool_calls=self.tool_calls + sign * other.tool_calls,
            errors=self.errors + sign * other.errors,
            model=model,
            written=self.written + sign * other.written,
            context=context,
        )


NOTHING = Usage()
