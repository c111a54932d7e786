"""Where the code of a repository may go. What is not named is denied."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Policy:
    """Each entry is a name, or a pattern such as `claude-*`; `*` is anything."""

    #: the folder that it was configured for
    repository: str
    #: mngr's providers: where agents run
    providers: tuple[str, ...] = ()
    #: pools, besides all those of these providers
    pools: tuple[str, ...] = ()
    #: whose login or key its agents use; without a configured one it has the name of the kind of agent
    accounts: tuple[str, ...] = ()
    #: the models of its agents; only `*` allows a model that the profile does not name
    models: tuple[str, ...] = ()


def is_named(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
