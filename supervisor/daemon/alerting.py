"""Evaluates the rules for alerts every few seconds, and tells the loop what is new."""

from collections.abc import Callable

from anyio import sleep

from supervisor.flow.alerts import changes
from supervisor.model.alert import Rule
from supervisor.model.event import Event
from supervisor.model.state import State

LOOK_SECONDS = 2.0

#: read at each look, so that a reload of the configuration changes them
type Rules = Callable[[], tuple[Rule, ...]]


class Alerting:
    def __init__(
        self,
        *,
        state: Callable[[], State],
        tell: Callable[[Event], None],
        clock: Callable[[], float],
        rules: Rules,
    ) -> None:
        self._state, self._tell, self._clock, self._rules = state, tell, clock, rules

    async def alerts(self) -> None:
        while True:
            for event in changes(self._state(), self._rules(), self._clock()):
                self._tell(event)  # one that is not journalled yet is told again, and dropped
            await sleep(LOOK_SECONDS)
