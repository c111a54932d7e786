"""Stands for GitHub: a real HTTP server on loopback that knows pull requests, and fails as it is told to."""

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from tests.loopback import Answering, serving

TOKEN = "ghp_" + "x" * 36
REPOSITORY = "ann/shop"

type Trouble = Literal["hang", "drop", "lost", "garbage", "huge"]


@dataclass(frozen=True)
class Failure:
    """One answer that goes wrong: a status with headers, or worse; with a method, only to a request of it."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    trouble: Trouble | None = None
    method: str = ""
    message: str = "it is broken"


@dataclass
class FakeGitHub:
    url: str = ""
    pulls: list[dict[str, Any]] = field(default_factory=list)
    #: what goes wrong, one request after the other
    failures: deque[Failure] = field(default_factory=deque)
    asked: list[tuple[str, str]] = field(default_factory=list)
    #: of the last creation
    body: dict[str, Any] = field(default_factory=dict)
    drafts: bool = True
    branches: tuple[str, ...] = ("main",)
    #: set to let go of requests that hang
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, *failures: Failure) -> None:
        self.failures.extend(failures)

    def next_failure(self, method: str) -> Failure | None:
        with self.lock:
            if self.failures and self.failures[0].method in ("", method):
                return self.failures.popleft()
        return None

    def add(
        self, branch: str, *, body: str = "", state: str = "open", repository: str = REPOSITORY
    ) -> dict[str, Any]:
        with self.lock:
            number = len(self.pulls) + 1
            head = {"ref": branch, "repo": {"full_name": repository}}
            url = f"{self.url}/{REPOSITORY}/pull/{number}"
            self.pulls.append({"number": number, "html_url": url, "head": head, "body": body, "state": state})
            return self.pulls[-1]

    def one(self, number: str, content: dict[str, Any] | None) -> tuple[int, Any]:
        """A pull request, with another text if it is given one."""
        found = next((pull for pull in self.pulls if str(pull["number"]) == number), None)
        if found is None:
            return 404, {"message": "Not Found"}
        if content is not None and len(content["body"]) > 65_536:
            return 422, {"message": "body is too long (maximum is 65536 characters)"}
        found |= content or {}
        return 200, found

    def answer(self, method: str, target: str, content: dict[str, Any]) -> tuple[int, Any]:
        parts = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        path = parts.path.removeprefix(f"/repos/{REPOSITORY}")
        if path == parts.path:
            return 404, {"message": "Not Found"}
        if (method, path) == ("GET", ""):
            return 200, {"default_branch": "main"}
        if method == "GET" and path.startswith("/branches/"):
            name = path.removeprefix("/branches/")
            return (200, {"name": name}) if name in self.branches else (404, {"message": "Branch not found"})
        if (method, path) == ("GET", "/pulls"):
            return 200, self.listed(query)
        if method in ("GET", "PATCH") and path.startswith("/pulls/"):
            return self.one(path.removeprefix("/pulls/"), content if method == "PATCH" else None)
        return self.created(content)

    def listed(self, query: dict[str, str]) -> list[dict[str, Any]]:
        owner, _, branch = query.get("head", "").partition(":")
        found = [pull for pull in self.pulls if query["state"] in ("all", pull["state"])]
        if branch:
            found = [pull for pull in found if (pull["head"]["ref"], owner) == (branch, REPOSITORY.partition("/")[0])]
        return list(reversed(found))

    def created(self, content: dict[str, Any]) -> tuple[int, Any]:
        if content.get("draft") and not self.drafts:
            return 422, {"message": "Draft pull requests are not supported in this repository."}
        if any(pull["head"]["ref"] == content["head"] and pull["state"] == "open" for pull in self.pulls):
            errors = [{"message": f"A pull request already exists for ann:{content['head']}."}]
            return 422, {"message": "Validation Failed", "errors": errors}
        self.body = content
        return 201, self.add(content["head"], body=content["body"])


class Api(Answering[FakeGitHub]):
    def do_GET(self) -> None:
        self.respond("GET", {})

    def do_POST(self) -> None:
        self.respond("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def do_PATCH(self) -> None:
        self.respond("PATCH", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def respond(self, method: str, content: dict[str, Any]) -> None:
        self.known.asked.append((method, self.path))
        failure = self.known.next_failure(method)
        if failure is not None:
            return self.go_wrong(failure, method, content)
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.send(401, {"message": "Bad credentials"})
        return self.send(*self.known.answer(method, self.path, content))

    def go_wrong(self, failure: Failure, method: str, content: dict[str, Any]) -> None:
        match failure.trouble:
            case "hang":
                self.known.over.wait(60)
            case "lost":
                self.known.answer(method, self.path, content)
            case "garbage":
                self.send(200, "<html>", raw=True)
            case "huge":
                self.send(200, "[" + " " * 2**25 + "]", raw=True)
            case None:
                self.send(failure.status, {"message": failure.message}, failure.headers)
        self.close_connection = True

    def send(self, status: int, told: Any, headers: dict[str, str] | None = None, *, raw: bool = False) -> None:
        data = told.encode() if raw else json.dumps(told).encode()
        try:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


@contextmanager
def github() -> Iterator[FakeGitHub]:
    known = FakeGitHub()
    with serving(Api, known) as known.url:
        try:
            yield known
        finally:
            known.over.set()
