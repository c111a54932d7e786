"""Encodes questions to a verifier, and decodes and checks its answers. Pure.

The answer comes from an untrusted host: its size is bounded before it is unpacked and after, only known fields are
read, and it must repeat the question's nonce and name the tree that was asked for.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from supervisor.errors import DeviceFailed
from supervisor.verification.trials.reports import MAX_CASES, Heard, Record
from supervisor.verification.trials.running import MAX_TAIL

#: one line for the shell; the kernel takes no argument of more than 128 KB
PIECE = 64 * 2**10
MAX_QUESTION = 16 * 2**20
#: the largest answer as it arrives, and unpacked
MAX_ANSWER, MAX_UNPACKED = 12 * 2**20, 96 * 2**20
MOST_RECORDS = 8 * MAX_CASES


class Disbelieved(DeviceFailed):
    """An answer that no honest verifier gives."""


class Said(msgspec.Struct, frozen=True):
    """What the reporter of a run sent, as the verifier received it."""

    records: list[str] = []
    is_connected: bool = False
    is_forged: bool = False
    is_too_much: bool = False


class Done(msgspec.Struct, frozen=True):
    """How a program on the verifier's host ended."""

    code: int | None = None
    tail: str = ""
    is_lost: bool = False
    met: list[str] = []
    unbuilt: str = ""
    seconds: float = 0.0
    heard: Said = Said()
    notes: dict[str, str] = {}


class Answer(msgspec.Struct, frozen=True):
    nonce: str
    tree: str = ""
    #: the commit is not there
    is_missing: bool = False
    #: why the host could not do it
    trouble: str = ""
    #: how its setup failed
    unready: Done | None = None
    #: stamps of what was prepared, before the runs and after them
    prepared: str = ""
    stamp: str = ""
    heads: dict[str, str] = {}
    runs: list[Done] = []


class Hello(msgspec.Struct, frozen=True):
    nonce: str
    #: where its trials are
    root: str
    env: dict[str, str]
    #: why walls can't be built there, and how processes are ended without them
    lacks: str
    means: str


def asked(question: Mapping[str, Any]) -> Iterator[str]:
    """The question, in pieces that a shell takes."""
    text = base64.b64encode(zlib.compress(json.dumps(question).encode(errors="surrogateescape"), 6)).decode()
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def answered[T: (Answer, Hello)](printed: str, kind: type[T], nonce: str) -> T:
    """Raises Disbelieved."""
    line = printed.strip()
    if len(line) > MAX_ANSWER:
        raise Disbelieved("its answer is too large")
    try:
        opening = zlib.decompressobj()
        text = opening.decompress(base64.b64decode(line, validate=True), MAX_UNPACKED)
        if not opening.eof:
            raise Disbelieved("its answer is too large, or cut")
        found = msgspec.json.decode(text, type=kind)
    except (binascii.Error, ValueError, zlib.error, RecursionError):
        raise Disbelieved("its answer can't be read") from None
    if found.nonce != nonce:
        raise Disbelieved("its answer is to another question")
    return found


def checked(answer: Answer, tree: str, runs: int) -> Answer:
    """The answer, if it is about the tree that was asked for, and has all runs. Raises Disbelieved."""
    if answer.trouble:
        raise Disbelieved(f"it could not do it: {answer.trouble[:300]}")
    if answer.is_missing or answer.unready is not None:
        return answer
    if answer.tree != tree:
        raise Disbelieved("it checked out another tree")
    if len(answer.runs) != runs or not all(0 <= each.seconds < 10**6 for each in answer.runs):
        raise Disbelieved("its answer has other runs than were asked for")
    return answer


def heard(said: Said, nonce: str) -> Heard:
    """What was received there, as if it had been received here."""
    found = Heard(is_connected=said.is_connected, is_forged=said.is_forged, is_too_much=said.is_too_much)
    decoder = msgspec.json.Decoder(Record)
    for line in said.records[:MOST_RECORDS]:
        try:
            record = decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            found.is_forged = True
            continue
        if record.nonce == nonce:
            found.records.append(record)
        else:
            found.is_forged = True
    return found


def tail(done: Done) -> str:
    return done.tail[-MAX_TAIL:]


def unpacked(data: str, most: int) -> bytes:
    """A file's content; empty if it can't be decoded."""
    try:
        return base64.b64decode(data, validate=True)[:most]
    except (binascii.Error, ValueError):
        return b""
