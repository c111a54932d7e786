"""The keys of `[dashboard]`."""

from typing import Annotated

from pydantic import BaseModel, Field


class DashboardTable(BaseModel, frozen=True, extra="forbid"):
    """Pages for a browser. `supervisorctl dashboard` opens them, with or without a port."""

    #: a port on 127.0.0.1 that the daemon serves them on; 0: none
    port: Annotated[int, Field(ge=0, le=65535)] = 0
