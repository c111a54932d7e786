"""The usage of requests: tokens by kind, as the provider reports them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    #: input that was neither written to a cache nor read from one
    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.cache_write + self.cache_read + self.output

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            self.output + other.output,
        )


NONE = Tokens()
