"""Parses mngr's output: agents, results and errors. All of it is hostile until it is parsed here."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from supervisor.adapters.mngr.calls import Answer
from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress, AgentState, Listing, MngrReason, SeenAgent

STATES: Mapping[str, AgentState] = {
    "RUNNING": "running",
    "WAITING": "waiting",
    "DONE": "done",
    "STOPPED": "stopped",
    "REPLACED": "replaced",
}

#: mngr's own error classes; any other class means that mngr understood the call and refused it
REASONS: Mapping[str, MngrReason] = {
    "DuplicateAgentNameError": "duplicate",
    "DuplicateAgentIdOnHostError": "duplicate",
    "AgentNotFoundError": "no-such-agent",
    "AgentIdNotFoundError": "no-such-agent",
    "AgentNameNotFoundError": "no-such-agent",
    "AgentNotFoundOnHostError": "no-such-agent",
    "ProviderDiscoveryError": "provider",
    "ProviderUnavailableError": "provider",
    "ProviderNotAuthorizedError": "provider",
    "ProviderCredentialSourceMissingError": "provider",
    "ModalAuthError": "provider",
    "ModalProxyRateLimitError": "rate",
    "HostConnectionError": "provider",
    "HostOfflineError": "provider",
    "HostAuthenticationError": "provider",
    "HostRecordUnreadableError": "provider",
    "ResourceAllocationError": "provider",
    "CommandTimeoutError": "timeout",
    "AgentStartError": "not-started",  # such as a claude that is not ready within ten seconds
    "SendMessageError": "not-started",
    "CleanupFailedGroup": "not-started",  # the agent did not start, and its remains could not be removed
}
#: the errors of a connection that is lost while a create waits for its host's lock: nothing was done yet
LOCK_TROUBLE = frozenset({"HostError", "LockNotHeldError", "LockLostError"})
#: tmux's messages when its server ends during a call: whatever was started in it has ended with it
LOST_TMUX = re.compile(r"no server running on|server exited unexpectedly|lost server|error connecting to \S*tmux")
#: the system's messages when a machine runs short of a resource: not the job's fault, and temporary
SHORTAGE = re.compile(
    r"No space left on device|Disk quota exceeded|Read-only file system|Too many open files|Cannot allocate memory"
    r"|Resource temporarily unavailable"
)
#: the rate limit messages of Modal, AWS, GCP and Azure. mngr reports an sshd that drops connections (MaxStartups) as
#: a host that can't be reached.
RATE = re.compile(r"rate ?limit|rate exceeded|request ?limit ?exceeded|throttl|too ?many ?requests", re.IGNORECASE)
#: from these steps on, a create runs third-party programs, whose messages tell nothing about the provider
BEYOND_PROVIDER = frozenset({"setting_up_host", "transferring_project", "provisioning", "starting_agent"})
CODES: Mapping[int, MngrReason] = {6: "provider", 8: "no-such-agent", 127: "missing", 137: "killed", 143: "killed"}
#: versions before 0.3 print errors as plain text only
WORDS: tuple[tuple[re.Pattern[str], MngrReason], ...] = (
    (re.compile(r"agent .*already exists", re.IGNORECASE), "duplicate"),
    (re.compile(r"failed to start agent|did not signal readiness", re.IGNORECASE), "not-started"),
    (re.compile(r"(no )?agent.*(not found|no agent)|could not find agent", re.IGNORECASE), "no-such-agent"),
    (re.compile(r"provider .*(unavailable|unreachable|inaccessible|not available)", re.IGNORECASE), "provider"),
)

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
AGENT_ID = re.compile(r"agent-[0-9a-f]{32}")
MAX_WORDS = 400
#: mngr's message when a host of an ssh provider does not answer, and what it means to a person
OFFLINE, UNREACHABLE = "Offline hosts not supported for this provider", "one of its hosts can't be reached"

type Event = dict[str, Any]


class RawHost(msgspec.Struct):
    id: str
    provider_name: str
    name: str = ""


class RawAgent(msgspec.Struct):
    id: str
    name: str
    host: RawHost
    state: str = ""
    work_dir: str = ""
    pid: int | None = None
    labels: dict[str, Any] = {}
    plugin: dict[str, Any] = {}


def plain_words(text: str) -> str:
    """Foreign text on one line, without terminal escapes, shortened in the middle: its end often tells why."""
    clean = CONTROLS.sub(" ", ESCAPES.sub("", text[: 20 * MAX_WORDS])).strip().replace(OFFLINE, UNREACHABLE)
    return clean if len(clean) <= MAX_WORDS else f"{clean[: MAX_WORDS // 2]} … {clean[-MAX_WORDS // 2 :]}"


def events(stdout: str) -> Iterator[Event]:
    """Every line that is a JSON object; other lines (progress of rsync, warnings) are skipped."""
    for line in stdout.splitlines():
        if line.startswith("{"):
            try:
                yield msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError:
                continue


def event(answer: Answer, kind: str) -> Event | None:
    return next((e for e in events(answer.stdout) if e.get("event") == kind), None)


def failure(verb: str, answer: Answer) -> MngrFailed:
    """The error that mngr reported, in its own words."""
    by_code = CODES.get(answer.code)
    if told := [e for e in events(answer.stdout) if e.get("event") == "error"]:
        reason = REASONS.get(str(told[-1].get("error_class"))) or by_code or "refused"
        return MngrFailed(f"`mngr {verb}` failed: {plain_words(str(told[-1].get('message')))}", reason=reason)
    if answer.code < 0:
        return MngrFailed(f"`mngr {verb}` was killed by signal {-answer.code}.", reason="killed")
    words = plain_words(_last_words(answer.stderr) or _last_words(answer.stdout)) or "no word why"
    if answer.code == 0:
        return MngrFailed(f"`mngr {verb}` gave an answer that can't be read: {words}", reason="garbage")
    by_words = next((reason for pattern, reason in WORDS if pattern.search(words)), "refused")
    return MngrFailed(f"`mngr {verb}` ended with {answer.code}: {words}", reason=by_code or by_words)


def not_created(answer: Answer, *, is_remote: bool) -> MngrFailed:
    """The error of a failed create. mngr reports a lost host just like a refusal, yet the host may have its agent
    when it is lost in the middle of a create. A killed tmux server is reported the same way; no agent outlives it."""
    failed = failure("create", answer)
    told = list(events(answer.stdout))
    steps = {str(e.get("step")) for e in told if e.get("kind") == "started"}
    if failed.reason in ("refused", "not-started") and (words := _error_words(told) or answer.stderr):
        if LOST_TMUX.search(words):
            return MngrFailed(failed.message, reason="provider")
        if SHORTAGE.search(words):
            return MngrFailed(failed.message, reason="timeout" if "starting_agent" in steps else "provider")
    if not is_remote or failed.reason not in ("provider", "refused"):
        return failed
    if RATE.search(failed.message) and not steps & BEYOND_PROVIDER:
        return MngrFailed(failed.message, reason="rate")
    if steps - {"preparing"}:
        return MngrFailed(failed.message, reason="timeout")
    if any(e.get("event") == "error" and e.get("error_class") in LOCK_TROUBLE for e in told):
        return MngrFailed(failed.message, reason="provider")
    return failed


def _error_words(told: Iterable[Event]) -> str:
    return " ".join(str(e.get("message")) for e in told if e.get("event") == "error")


def _last_words(text: str) -> str:
    lines = [line for line in text[-20_000:].splitlines() if line.strip()]
    errors = [i for i, line in enumerate(lines) if line.startswith(("Error:", "ERROR:"))]
    return " ".join(lines[errors[-1] :] if errors else lines[-3:])


def seen_agent(raw: object) -> SeenAgent:
    """Raises msgspec.ValidationError for what is not an agent."""
    agent = msgspec.convert(raw, RawAgent)
    if not AGENT_ID.fullmatch(agent.id):
        raise msgspec.ValidationError("not an agent id")
    waits = (p.get("waiting_reason") for p in agent.plugin.values() if isinstance(p, dict))
    waiting_reason = next((str(w) for w in waits if w), "")
    state = STATES.get(agent.state, "unknown")
    # codex is listed as running while it asks, because its turn goes on.
    is_blocked = waiting_reason == "PERMISSIONS" and state in ("waiting", "running")
    return SeenAgent(
        address=AgentAddress(agent.id, agent.host.id, agent.host.provider_name),
        name=agent.name,
        state="blocked" if is_blocked else state,
        waiting_reason=waiting_reason if is_blocked or state == "waiting" else "",
        work_dir=agent.work_dir,
        host_name=agent.host.name,
        pid=agent.pid,
        labels={key: str(value) for key, value in agent.labels.items()},
    )


def listing(answer: Answer, provider: str) -> Listing:
    """The agents that could be parsed; every other line is a problem, so that an absent agent proves nothing."""
    agents, problems = [], []
    for line in answer.stdout.splitlines():
        try:
            raw = msgspec.json.decode(line, type=dict[str, Any])
            if raw.get("event") == "error":
                problems.append(plain_words(str(raw.get("message", "an error without words"))))
            elif "host" in raw:
                agents.append(seen_agent(raw))
        except msgspec.DecodeError:
            if line.strip():
                problems.append(f"a line that can't be read: {plain_words(line)}")
    if answer.code != 0 and not problems:
        problems.append(failure("list", answer).message)
    ours = tuple(agent for agent in agents if agent.address.provider == provider)
    return Listing(ours, tuple(problems[:10]))
