"""What all pages share while the daemon runs."""

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from supervisor.control.desk import Desk
from supervisor.dashboard.entering import Entrance, Session
from supervisor.dashboard.faces import Faces
from supervisor.dashboard.past import Past


@dataclass(frozen=True, slots=True)
class House:
    desk: Desk
    entrance: Entrance
    #: the name of the session's cookie: ports of one machine share their cookies
    cookie: str
    past: Past = field(init=False)
    faces: Faces = field(init=False)

    def __post_init__(self) -> None:
        past = Past(self.desk.journal)
        object.__setattr__(self, "past", past)
        object.__setattr__(self, "faces", Faces(self.desk, past))


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


def _session(request: Request) -> Session:
    session: Session = request.state.session
    return session


TheHouse = Annotated[House, Depends(_house)]
TheSession = Annotated[Session, Depends(_session)]
