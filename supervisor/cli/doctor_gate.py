"""What `doctor` says of the gate: whether it is there, and who of the agents does not go through it."""

from collections.abc import Iterator

from supervisor.cli import session
from supervisor.cli.findings import Finding, Judged
from supervisor.kinds import kind_of

ANSWER_SECONDS = 5.0


def gate(here: session.Session, judged: Judged) -> Iterator[Finding]:
    if not judged.settings.gate.on:
        return
    yield _answers(judged.settings.gate.listen)
    yield from _past_it(judged)


def _answers(listen: str) -> Finding:
    import httpx

    try:
        answer = httpx.get(f"http://{listen}/", timeout=ANSWER_SECONDS, trust_env=False)
        problems = answer.json()["problems"]
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        hint = "start it: `systemctl enable --now agent-supervisor-gate`, or run `supervisor-gate`"
        said = f"no gate answers on {listen} ({type(error).__name__}): agents can't reach their model"
        return Finding("gate", "problem", said, hint)
    if problems:
        return Finding("gate", "problem", str(problems[0]), "its log says why: `journalctl -u agent-supervisor-gate`")
    return Finding("gate", "ok", f"it answers on {listen}")


def _past_it(judged: Judged) -> Iterator[Finding]:
    from supervisor.settings import resolve

    settings = judged.settings
    elsewhere = {pool.name for pool in settings.pools if pool.provider != "local"}
    apis = {upstream.api for upstream in settings.gate.upstreams}
    for profile in (resolve(settings, name) for name in sorted({"default", *settings.profiles})):
        kind, name = kind_of(profile.agent), f"profile {profile.name}"
        if kind.apis and not apis & set(kind.apis):
            hint = f"add one of the API {kind.apis[0]} to [[gate.upstreams]]"
            yield Finding("gate", "problem", f"{name}: there is no upstream for the agent {kind.name}", hint)
        elif not kind.apis and kind.name != "rehearsal":
            said = f"{name}: the agent {kind.name} asks its model directly, past the gate and its caps"
            yield Finding("gate", "warning", said)
        if kind.apis and (outside := sorted(elsewhere & set(profile.pools))):
            said = f"{name}: agents of pool {outside[0]} ask their model directly, past the gate and its caps"
            yield Finding("gate", "warning", said, "the gate is for agents of this machine")
