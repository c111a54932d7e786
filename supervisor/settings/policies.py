"""The keys of a data policy, and the policy of a repository."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from supervisor.model.policy import Policy
from supervisor.settings.values import Words


class PolicyTable(BaseModel, frozen=True, extra="forbid"):
    """Where the code of the repositories in a folder may go: `[policy."/srv/app"]`. What is not named is denied.

    Names may be patterns, and `*` allows anything. Of several folders around a repository the innermost counts."""

    #: mngr's providers on which agents may run, such as `local`
    providers: Words = ()
    #: more pools on which they may run, by name
    pools: Words = ()
    #: the accounts that they may use; one that is not configured has the name of its kind of agent, such as `claude`
    accounts: Words = ()
    #: the models that they may use; a profile names its model in `agent_args`, otherwise only `*` allows it
    models: Words = ()


def policy_for(tables: Mapping[Path, PolicyTable], repo: str) -> Policy | None:
    """The policy of the innermost folder around the repository."""
    around = [folder for folder in tables if Path(repo).is_relative_to(folder.resolve())]
    if not around:
        return None
    folder = max(around, key=lambda each: len(each.resolve().parts))
    table = tables[folder]
    return Policy(str(folder), table.providers, table.pools, table.accounts, table.models)
