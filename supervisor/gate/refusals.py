"""The gate's response when it does not pass a request on: a status, and one sentence."""

from dataclasses import dataclass, field

#: maximum size of the request line and headers together
HEAD_BYTES = 64 * 1024
#: the prefix of the message for a reached cap of an account: by it the daemon tells it from a limit of the provider
NO_ROOM = "the gate has no room for this request"


@dataclass
class Refused(Exception):
    """The request ends here."""

    status: int
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.status}: {self.message}"


#: the error type of each status, as in the provider's own API
ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
OPENAI = {
    401: "invalid_api_key",
    402: "insufficient_quota",
    429: "rate_limit_exceeded",
    503: "server_is_overloaded",
    529: "server_is_overloaded",
}
