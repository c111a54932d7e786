"""What an agent waits for, and what a device is asked: by the names of the agenda."""

from supervisor.model.agenda import Item
from supervisor.model.attempt import Attempt, Stage
from supervisor.model.effect import (
    Clear,
    Collect,
    Effect,
    Integrate,
    IntegrateSoFar,
    Launch,
    Nudge,
    Release,
    RunAtBase,
    Verify,
)


def due_to(attempt: Attempt) -> list[Item]:
    batch, job, _ = key = attempt.key
    match attempt.stage:
        case Stage.LAUNCHING:
            return [("launch", *key)]
        case Stage.LIVE:
            return [("time-out", *key), ("cancel", batch, job)]
        case Stage.COLLECTING:
            return [("collect", *key)]
        case Stage.RELEASING:
            return [("release", *key)]


def awaited(effect: Effect) -> Item:
    match effect:
        case Launch(attempt=attempt):
            return ("launch", *attempt.key)
        case Nudge(attempt=attempt):
            return ("nudge", *attempt.key)
        case Collect(attempt=attempt):
            return ("collect", *attempt.key)
        case Release(attempt=attempt):
            return ("release", *attempt.key)
        case Verify(keys=keys):
            return ("verify", *keys[0])
        case Integrate(batch=batch):
            return ("integrate", batch)
        case IntegrateSoFar(batch=batch):
            return ("partial", batch)
        case RunAtBase(batch=batch, number=number):
            return ("base", batch, number)
        case Clear():
            return ("clear",)
    raise AssertionError(f"nothing awaits {effect}")
