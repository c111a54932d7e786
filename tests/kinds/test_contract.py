"""What is promised of every kind of agent, those to come included: how it is launched, and that it can be read."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from supervisor.adapters.layout import FOLDER, Layout
from supervisor.adapters.mngr.dialects import DIALECTS
from supervisor.adapters.mngr.order import create_argv
from supervisor.kinds import KINDS, Kind, Start, kind_of, who_writes
from supervisor.launch.orders import ContractOrders
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.profile import PROGRAMS, Profile
from supervisor.ports import AgentOrder
from supervisor.transcripts.redact import Redactor
from tests.adapters.log_box import ATTEMPT, Box

OTHER = "somebodys-own-type"
NAMES = [*KINDS, OTHER]
SECRET = "sk-proj-0123456789abcdefghij"

every_kind = pytest.mark.parametrize("name", NAMES)


def profile_of(name: str, **more: object) -> Profile:
    kind = kind_of(name)
    variables = kind.login.variables if kind.login else {"A_KEY"}
    env = dict.fromkeys(sorted(variables), "credential:key")
    return Profile(agent=name, agent_args=kind.args, command=("agent",) * (name == "command"), env=env)


def order_of(folder: Path, name: str, provider: str = "local") -> AgentOrder:
    (folder / "key").write_text(SECRET + "\n")
    batch = Batch("b1", 1, "/repo", "0" * 40, ("test_app.py::test_one",), profile_of(name), 0.0)
    attempt = Attempt(AttemptKey("b1", 1, 1), "agent-" + "1" * 32, "sv-b1-1-1", provider, provider, "", False, 0.0)
    return ContractOrders(Layout(folder), "here", folder, lambda *_: None).order(batch, attempt)


@every_kind
def test_a_secret_goes_by_file_and_never_stands_on_argv(tmp_path: Path, name: str) -> None:
    order = order_of(tmp_path, name)
    order = AgentOrder(**{field: getattr(order, field) for field in AgentOrder.__slots__} | {"files": {}})
    with create_argv(order, DIALECTS[-1], tmp_path / "scratch") as argv:
        env = Path(argv[argv.index("--env-file") + 1])
        assert SECRET in env.read_text()
        assert env.stat().st_mode & 0o777 == 0o600
    assert SECRET not in " ".join(argv)


@every_kind
@pytest.mark.parametrize("provider", ["local", "modal"])
def test_its_arguments_are_those_of_the_profile_and_what_it_needs_is_put_in_place(
    tmp_path: Path, name: str, provider: str
) -> None:
    order, profile = order_of(tmp_path, name, provider), profile_of(name)
    given = profile.command + profile.agent_args
    assert order.args[len(order.args) - len(given) :] == given
    assert all(path.exists() for path in order.files.values() if path.name not in {"policy.pyz", "policy.json"})
    for command in order.provision:
        subprocess.run(["sh", "-nc", command], check=True)


@every_kind
def test_nobody_types_into_a_program_and_everybody_else_is_told_what_to_do_or_knows(name: str) -> None:
    kind, profile = kind_of(name), Profile(agent=name)
    assert profile.is_talked_to is (name not in PROGRAMS)
    assert bool(kind.first_words) is (kind.program(Start(profile, "local")).type != "command")
    assert "\n" not in kind.first_words


@every_kind
def test_what_the_profile_says_goes_before(tmp_path: Path, name: str) -> None:
    kind = kind_of(name)
    for variable, value in kind.environment("local").items():
        assert order_of(tmp_path, name).env[variable] == value
        profile = Profile(agent=name, command=("agent",), env={variable: "mine"})
        batch = Batch("b1", 1, "/repo", "0" * 40, ("test_app.py::test_one",), profile, 0.0)
        attempt = Attempt(AttemptKey("b1", 1, 1), "agent-1", "sv-b1-1-1", "local", "local", "", False, 0.0)
        order = ContractOrders(Layout(tmp_path), "here", None, lambda *_: None).order(batch, attempt)
        assert order.env[variable] == "mine"


@every_kind
def test_one_with_a_program_says_who_teaches_it_to_mngr_and_how_it_logs_in(name: str) -> None:
    kind = kind_of(name)
    assert bool(kind.executable) is bool(kind.plugin) is (kind.login is not None)
    if kind.login is not None:
        assert kind.login.variables
        assert not Path(kind.login.file).is_absolute()


WRITERS = [kind for kind in KINDS.values() if kind.transcript is not None]
writers = pytest.mark.parametrize("kind", WRITERS, ids=lambda kind: kind.name)


@writers
def test_it_is_known_by_what_it_writes_and_its_lines_stay_where_they_were_taken_from(
    tmp_path: Path, kind: Kind
) -> None:
    told = kind.transcript
    assert told is not None
    assert who_writes(tmp_path) is None
    told.path(tmp_path).parent.mkdir(parents=True)
    told.path(tmp_path).touch()
    assert who_writes(tmp_path) == (kind, told)
    assert who_writes(tmp_path, {told.converted}) is None
    assert who_writes(tmp_path, {told.converted, told.own}) == (kind, told)


@writers
@pytest.mark.parametrize(
    "line", ["", "null", "[]", "7", '{"type": [], "payload": 7}', "{" * 5000, "\x00\x1b[2J", '{"type":"event_msg"}']
)
def test_no_line_stops_the_reading(tmp_path: Path, kind: Kind, line: str) -> None:
    assert kind.transcript is not None
    reading = kind.transcript.reading(1, kind.transcript.own, Redactor([]))
    list(reading.line(line.encode()))
    assert reading.counted == []


ODD: tuple[object, ...] = (None, 7, [], {}, "x", {"type": {}}, [[]])


@writers
def test_what_it_has_recorded_is_read_with_anything_in_the_place_of_a_value(kind: Kind) -> None:
    assert kind.transcript is not None
    for line in recorded(kind):
        for odd in ODD:
            reading = kind.transcript.reading(1, kind.transcript.own, Redactor([]))
            for changed in with_each_value(json.loads(line), odd):
                list(reading.line(json.dumps(changed).encode()))


def recorded(kind: Kind) -> list[str]:
    path = Path(__file__).parents[1] / "data" / "transcripts" / f"{kind.name}.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def with_each_value(value: object, odd: object) -> list[object]:
    """The same, each time with another value of it replaced."""
    if isinstance(value, dict):
        return [{**value, key: new} for key in value for new in (odd, *with_each_value(value[key], odd))]
    if isinstance(value, list):
        made = enumerate(value)
        return [[*value[:n], new, *value[n + 1 :]] for n, each in made for new in (odd, *with_each_value(each, odd))]
    return []


@writers
def test_a_restart_doubles_no_line_and_no_token(tmp_path: Path, kind: Kind) -> None:
    """Whatever was read before it."""
    lines, told = recorded(kind), kind.transcript
    assert told is not None
    if not lines:
        pytest.skip("its lines are tested with the real program only")
    box = Box(tmp_path)
    path = told.path(box.state)
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    whole = (box.texts(), box.sight.usage)
    box.restarted()
    assert (box.texts(), box.sight.usage) == whole
    assert box.ingest.finish(ATTEMPT, pane=False) == whole[1]


def test_the_folder_of_what_is_put_in_place_is_ours() -> None:
    assert Start(Profile(), "local").folder == FOLDER


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is asked for it")
def test_claude_as_root_is_told_that_this_is_a_sandbox() -> None:
    assert kind_of("claude").environment("local")["IS_SANDBOX"] == "1"
