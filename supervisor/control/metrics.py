"""The route that Prometheus scrapes."""

from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import Response

from supervisor.control.desk import TheDesk
from supervisor.observe.metrics.exposition import expose
from supervisor.observe.metrics.gauges import Gauges

routes = APIRouter(tags=["look"])


@routes.get(
    "/metrics",
    response_model=None,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(desk: TheDesk, accept: Annotated[str, Header(max_length=1000)] = "") -> Response:
    """Metrics for Prometheus, in its text format or as OpenMetrics."""
    gauges = Gauges(
        desk.state(),
        desk.clock(),
        version=str(desk.facts.get("version", "")),
        problems=dict(desk.problems()),
        strays=len(desk.strays()),
        disk=desk.disk(),
    )
    # Not in a thread: it takes less than the time after which Python would let the loop go on beside it, and a busy
    # machine lets each of the two change-overs wait for longer than that.
    text, content_type = expose(gauges, desk.meters, accept)
    return Response(text, media_type=content_type)
