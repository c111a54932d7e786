"""What the daemon watches: what needs a person, and the clock."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from supervisor.control import messages
from supervisor.control.desk import TheDesk
from supervisor.control.looking import shape
from supervisor.observe import alerts as alert_views
from supervisor.observe import schedules as schedule_views

routes = APIRouter(tags=["look"])


@routes.get("/v1/alerts", **shape(messages.Dated))
async def alerts(desk: TheDesk) -> Response:
    """The alerts that hold, the last ones that are over, and who is told of them."""
    return JSONResponse(alert_views.alerts(desk.state(), desk.clock(), desk.receivers()))


@routes.get("/v1/schedules", **shape(messages.Dated))
async def schedules(desk: TheDesk) -> Response:
    """The schedules, with their next times and what has become of the last ones."""
    return JSONResponse(schedule_views.schedules(desk.state(), desk.clock(), desk.schedules()))
