"""The keys of `[[pools]]`."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from supervisor.settings.values import Name, Words


class PoolTable(BaseModel, frozen=True, extra="forbid"):
    """A place where agents run, and how many at a time. There can be several `[[pools]]`."""

    #: the name that profiles use
    name: Name
    #: a mngr provider: `local`, `modal`, `docker`, or one that mngr's own settings define, such as an ssh pool
    provider: Name = "local"
    #: existing hosts of the provider; empty: this machine, or new hosts where the provider makes them
    hosts: Words = ()
    #: the number of agents that share a new host
    agents_per_host: Annotated[int, Field(ge=1)] = 4
    #: mngr's arguments for a new host, each as for `mngr create --build-arg`; no secrets
    build_args: Words = ()
    #: the number of hosts (or of agents, where no hosts are made) that the provider is asked for per second; 0: no
    #: limit; default: 4 for `modal`, otherwise no limit. It holds for the provider, whichever of its pools says it
    launch_rate: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    #: the number of agents at a time; "auto": as many as this machine has memory, disk and descriptors for
    slots: Annotated[int, Field(ge=0, le=100_000)] | Literal["auto"] = 4
    #: of a pool that is not `local`: the number of verifications at a time there; default: one for every four slots,
    #: and one for each host. For this machine see `verify_slots` outside of pools
    verify_slots: Annotated[int, Field(ge=1)] | None = None
