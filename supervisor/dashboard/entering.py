"""Who may look: a token that opens the door once, and the session that it is exchanged for.

A token is given to somebody whom the API's socket identifies, so a session knows its author. A session is a signed
statement, kept by the browser only: it outlives a restart of the daemon, and ends with its time or with the key.
"""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TOKEN_SECONDS = 300.0
SESSION_SECONDS = 7 * 24 * 3600.0
#: how many tokens may wait to be used; the oldest goes first
MOST_TOKENS = 100
#: longer than any session of ours
MOST_SESSION_TEXT = 1000
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    author: str
    #: seconds since the epoch
    ends_at: float
    #: what every form of this session has to say, which no other site can know
    form_key: str


class Entrance:
    def __init__(self, key: bytes, clock: Callable[[], float]) -> None:
        self._key, self._clock = key, clock
        #: by the hash of each token: for whom it is, and until when
        self._tokens: dict[bytes, tuple[str, float]] = {}

    def token(self, author: str) -> str:
        while len(self._tokens) >= MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        token = secrets.token_urlsafe(32)
        self._tokens[_hash(token)] = (author, self._clock() + TOKEN_SECONDS)
        return token

    def admitted(self, token: str) -> str | None:
        """The session for a token, as the browser keeps it. A token is good for one."""
        author, until = self._tokens.pop(_hash(token), ("", 0.0))
        return self._signed(author) if self._clock() < until else None

    @property
    def reader(self) -> str:
        """The token of programs, good for numbers and the feed alone, and for as long as the key is."""
        return self._mark("reader", "metrics and feed")

    def is_reader(self, authorization: str) -> bool:
        """By the header that a program sends."""
        scheme, _, token = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self.reader.encode())

    def session(self, text: str) -> Session | None:
        """None: it is not ours, or over."""
        body, _, signature = text[:MOST_SESSION_TEXT].rpartition(".")
        if not body or not hmac.compare_digest(self._mark("session", body).encode(), signature.encode()):
            return None
        author, ends_at, _ = _decoded(body).split("\n")
        if float(ends_at) <= self._clock():
            return None
        return Session(author, float(ends_at), self._mark("form", body))

    def _signed(self, author: str) -> str:
        # The last part makes two sessions of one author differ.
        body = _encoded(f"{author}\n{self._clock() + SESSION_SECONDS:.0f}\n{secrets.token_hex(8)}")
        return f"{body}.{self._mark('session', body)}"

    def _mark(self, use: str, body: str) -> str:
        return hmac.new(self._key, f"{use}:{body}".encode(), hashlib.sha256).hexdigest()


def key_of(path: Path) -> bytes:
    """The key that sessions are signed with, made at the first use. Who deletes the file ends all sessions."""
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if len(key) != _KEY_BYTES:
        key, draft = secrets.token_bytes(_KEY_BYTES), path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        draft.replace(path)
    return key


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def _decoded(text: str) -> str:
    return base64.urlsafe_b64decode(text.encode()).decode()
