"""The feed for who is logged in, with links to the pages."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from supervisor.control.digesting import written
from supervisor.dashboard.house import TheHouse
from supervisor.observe.feed import MEDIA_TYPE

routes = APIRouter()


@routes.get("/feed.atom")
async def feed(request: Request, house: TheHouse) -> Response:
    origin = str(request.base_url).rstrip("/")
    return Response(await written(house.desk, origin), media_type=MEDIA_TYPE)
