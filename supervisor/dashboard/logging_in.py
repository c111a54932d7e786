"""A token becomes a session, and a session ends."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from supervisor.dashboard.entering import SESSION_SECONDS
from supervisor.dashboard.house import TheHouse
from supervisor.dashboard.rendering import page

routes = APIRouter()


@routes.get("/login")
async def login(request: Request, house: TheHouse, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The page goes on by itself: a browser sends a strict cookie only where a page of ours has led it."""
    session = house.entrance.admitted(token)
    if session is None:
        return page(request, "login.html", 403, is_in=False)
    answer = page(request, "login.html", is_in=True)
    answer.set_cookie(house.cookie, session, max_age=int(SESSION_SECONDS), httponly=True, samesite="strict", path="/")
    return answer


@routes.post("/logout")
async def logout(request: Request, house: TheHouse) -> Response:
    answer = page(request, "login.html", is_in=False)
    answer.delete_cookie(house.cookie, httponly=True, samesite="strict", path="/")
    return answer
