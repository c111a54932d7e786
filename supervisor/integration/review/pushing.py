"""Pushes one commit to a branch of a configured remote: never forced, no person's hooks, no secret on argv; and
brings home what is there."""

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from supervisor.adapters.git.moving import FETCH
from supervisor.adapters.git.process import environment, git
from supervisor.errors import GitFailed, Refused

PUSH_SECONDS = 600.0
#: What a push may go over; nothing that runs a program of the remote's choice.
PROTOCOLS = "https:http:ssh:file"
SSH = "ssh -oBatchMode=yes -oConnectTimeout=30"

_SCP = re.compile(r"(?:[^@/:]+@)?([^/:@]+):(?!//)(.+)")


@dataclass(frozen=True, slots=True)
class Remote:
    #: without a user's name and password, which argv would show
    url: str
    #: "" for a path of this machine
    host: str = ""
    #: `user:password` that stood in the URL
    login: str = ""

    @property
    def repository(self) -> str:
        """`owner/name`, as the end of its path says."""
        path = _SCP.sub(r"\2", self.url) if "://" not in self.url else urlsplit(self.url).path
        parts = path.removesuffix("/").removesuffix(".git").split("/")
        return "/".join(parts[-2:]) if len(parts) > 1 else ""


def parsed(url: str) -> Remote:
    if "://" not in url:
        found = _SCP.fullmatch(url)
        return Remote(url, found[1].lower() if found else "")
    parts = urlsplit(url)
    user, _, address = parts.netloc.rpartition("@")
    login = ":".join(unquote(part) for part in user.split(":", 1))
    if parts.scheme in ("http", "https"):
        return Remote(urlunsplit(parts._replace(netloc=address)), (parts.hostname or "").lower(), login)
    return Remote(url, (parts.hostname or "").lower())


async def remote_of(repo: Path, name: str) -> Remote:
    """Where pushes to a remote of a person's repository go."""
    try:
        url = (await git(repo, "remote", "get-url", "--push", "--", name)).decode(errors="replace").strip()
    except GitFailed:
        raise Refused(f"{repo} has no remote {name}", hint="name another as [github] remote") from None
    return parsed(url)


async def push(bare: Path, remote: Remote, sha: str, branch: str, token: str = "") -> None:
    """Again is fine. `token` is sent to no other host than the remote's, and not in the clear but on this machine."""
    env = _access(remote, token)
    await git(bare, "push", "-q", remote.url, f"{sha}:refs/heads/{branch}", timeout=PUSH_SECONDS, env=env)


async def bring(bare: Path, remote: Remote, branch: str, ref: str, token: str = "") -> str:
    """The last commit of a branch there, which comes home under a ref of ours; "" if there is no such branch."""
    env = _access(remote, token)
    found = (await git(bare, "ls-remote", remote.url, f"refs/heads/{branch}", timeout=PUSH_SECONDS, env=env)).decode()
    if not found.strip():
        return ""
    # People's own work is trusted, and old histories hold objects that a strict check refuses.
    lenient = ["-c", "transfer.fsckObjects=false", "-c", "fetch.unpackLimit=1"]
    await git(bare, *lenient, *FETCH, remote.url, f"+refs/heads/{branch}:{ref}", timeout=PUSH_SECONDS, env=env)
    return (await git(bare, "rev-parse", "-q", "--verify", ref)).decode().strip()


def _access(remote: Remote, token: str) -> dict[str, str]:
    env = {"GIT_ALLOW_PROTOCOL": PROTOCOLS, "GIT_SSH_COMMAND": SSH}
    login = f"x-access-token:{token}" if token else remote.login
    if login and urlsplit(remote.url).scheme in ("http", "https"):
        env |= _header(remote, login)
    return env


def _header(remote: Remote, login: str) -> dict[str, str]:
    """One more setting for git, through its environment."""
    parts = urlsplit(remote.url)
    number = int(environment()["GIT_CONFIG_COUNT"])
    value = base64.b64encode(login.encode()).decode()
    return {
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": f"http.{parts.scheme}://{quote(parts.netloc, safe=':[]')}/.extraHeader",
        f"GIT_CONFIG_VALUE_{number}": f"Authorization: Basic {value}",
    }


async def empty_commit(bare: Path, base: str, message: str, at: float) -> str:
    """A commit that changes nothing, so that there is a branch to talk about. Again gives the same."""
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in _NAMES.items()}
    dates = {f"GIT_{role}_DATE": f"{int(at)} +0000" for role in ("AUTHOR", "COMMITTER")}
    made = await git(bare, "commit-tree", f"{base}^{{tree}}", "-p", base, stdin=message.encode(), env=who | dates)
    return made.decode().strip()


_NAMES = {"NAME": "agent-supervisor", "EMAIL": "agent-supervisor@localhost"}
