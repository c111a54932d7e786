"""Agents of a drill that mngr still has, and their end."""

from collections.abc import Iterable, Set
from functools import partial

import anyio

from supervisor.adapters.mngr import open_agents
from supervisor.boot import mngr_settings
from supervisor.errors import DeviceFailed
from supervisor.ports import BATCH, VERIFIER, Agents, SeenAgent
from supervisor.settings import Settings


def left_behind(settings: Settings, batches: Set[str], providers: Iterable[str]) -> tuple[list[str], list[str]]:
    """The names of agents that are left, and what can't be known."""
    agents, problems = anyio.run(partial(_left, settings, batches, sorted({"local", *providers})))
    return agents, problems


def destroy(settings: Settings, batches: Set[str], providers: Iterable[str]) -> list[str]:
    """All of them; what can't be done, as sentences."""
    return anyio.run(partial(_destroyed, settings, batches, sorted({"local", *providers})))


async def _left(settings: Settings, batches: Set[str], providers: list[str]) -> tuple[list[str], list[str]]:
    agents = await open_agents(mngr_settings(settings))
    try:
        found, problems = await _found(agents, batches, providers)
        return [each.name for each in found], problems
    finally:
        await agents.close()


async def _destroyed(settings: Settings, batches: Set[str], providers: list[str]) -> list[str]:
    agents = await open_agents(mngr_settings(settings))
    try:
        found, problems = await _found(agents, batches, providers)
        try:
            if found:
                await agents.destroy([each.address for each in found])
        except DeviceFailed as failed:
            names = ", ".join(each.name for each in found)
            problems.append(f"{names} may be left: {failed.message}")
        return [f"it can't be seen whether agents are left: {problem}" for problem in problems]
    finally:
        await agents.close()


async def _found(agents: Agents, batches: Set[str], providers: list[str]) -> tuple[list[SeenAgent], list[str]]:
    found, problems = [], []
    for provider in providers:
        try:
            listing = await agents.list(provider)
        except DeviceFailed as failed:
            problems.append(failed.message)
            continue
        problems += listing.problems
        found += [each for each in listing.agents if {each.labels.get(BATCH), each.labels.get(VERIFIER)} & batches]
    return found, problems
