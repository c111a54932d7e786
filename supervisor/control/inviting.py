"""Lets a user look at the dashboard: whoever may open this socket may ask for a token."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from supervisor.control import messages
from supervisor.control.desk import TheDesk
from supervisor.control.looking import shape
from supervisor.control.steering import Author
from supervisor.observe import snapshot

routes = APIRouter(tags=["look"])


@routes.post("/v1/dashboard", **shape(messages.Invited))
async def invite(desk: TheDesk, by: Author) -> Response:
    """A token for `/login` of the dashboard, good for one session, and where the dashboard is served."""
    return JSONResponse(snapshot.answer(desk.clock(), **desk.invite(by)))
