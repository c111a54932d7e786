"""Every error is answered as `{"error": {"code", "message", "hint", "exit_code"}}`, with a matching HTTP status."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from supervisor.control.messages import ErrorAnswer
from supervisor.errors import DeviceFailed, ImpossibleTransition, Misconfigured, NoSuchThing, Refused, SupervisorError

log = structlog.get_logger()

#: the first class that matches wins
STATUSES: Mapping[type[SupervisorError], int] = {
    NoSuchThing: 404,
    Refused: 409,
    ImpossibleTransition: 409,
    Misconfigured: 409,
    DeviceFailed: 503,
}
#: for the OpenAPI description of every route
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": HTTPStatus(status).phrase}
    for status in (400, 404, 405, 408, 409, 413, 422, 503)
}


def refusal(status: int, code: str, message: str, *, hint: str = "", exit_code: int = 1) -> JSONResponse:
    body = {"code": code, "message": message, "hint": hint, "exit_code": exit_code}
    return JSONResponse({"error": body}, status)


def install(app: FastAPI) -> None:
    app.add_exception_handler(SupervisorError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(TimeoutError, _late)
    app.add_exception_handler(Exception, _bug)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SupervisorError)
    status = next((status for cls, status in STATUSES.items() if isinstance(error, cls)), 503)
    return refusal(status, error.code, error.message, hint=error.hint, exit_code=error.exit_code)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    said = f"{place}: {first['msg']}" if place else str(first["msg"])
    return refusal(422, "usage", said[:500], hint="see /openapi.json", exit_code=2)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
    answer = refusal(error.status_code, code, str(error.detail), hint="see /openapi.json", exit_code=2)
    answer.headers.update(error.headers or {})
    return answer


async def _late(request: Request, error: Exception) -> JSONResponse:
    return refusal(
        503,
        "busy",
        "the daemon did not handle the request in time",
        hint="try again; the request may or may not have taken effect",
    )


async def _bug(request: Request, error: Exception) -> JSONResponse:
    log.error("bug in the API", path=request.url.path, exc_info=error)
    return refusal(500, "bug", f"the daemon failed: {type(error).__name__}", hint="see its log")
