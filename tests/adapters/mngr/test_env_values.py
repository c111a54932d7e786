"""Whatever a value holds, an agent reads the same."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.adapters.mngr.envfile import env_file
from supervisor.errors import MngrFailed
from tests.adapters.mngr.sandboxes import REAL, STUB, device, sandbox
from tests.properties import examples

NASTY = [
    *(
        "",
        " ",
        "a b",
        "'",
        '"',
        "\\",
        "\\\\",
        "$",
        "$HOME",
        "${HOME}",
        "\\${HOME}",
        "$(id)",
        "`id`",
        "a\nb",
        "\n",
        "\n\n",
    ),
    *(
        "\r",
        "a\r\nb",
        "\t",
        "#x",
        "a #b",
        "~",
        "~/x:~",
        "!!",
        "a;b&c|d>e<f",
        "*?[]{}()",
        "\\n",
        "ends\\",
        "\\'",
        '\\"',
    ),
    *(
        "${A:-x}",
        "é 漢 🙂",
        "\x01\x1b[31m",
        "x=y",
        "-n",
        "$$",
        "a\\\nb",
        "'\"'\"'",
        "\x85",
        "\u2028",
        "$'x'",
        "\\$",
        "$\\{a}",
    ),
]
DUMP = """python3 -c 'import json, os; json.dump(dict(os.environ), open("env.json", "w"))'"""

values = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
    | st.text("$`\\'\"{} \n\r\ta~", max_size=8),
    max_size=60,
)


async def read_by_an_agent(command: Path, texts: list[str]) -> list[str]:
    env = {f"V{number}": text for number, text in enumerate(texts)}
    with sandbox(command, warm=command == REAL) as box:
        async with device(box) as agents:
            order = box.order(env=env, state_dir_env={"OWN": "a $HOME/`b`"}, provision=(DUMP,))
            address = await agents.create(order)
            await agents.pull(address, "env.json", box.root / "env.json")
            read = json.loads((box.root / "env.json").read_text())
            assert read["OWN"] == f"{agents.state_dir(order.id)}/a $HOME/`b`"
            await agents.destroy([address])
    return [read[name] for name in env]


async def test_nasty_values_arrive_verbatim() -> None:
    assert await read_by_an_agent(STUB, NASTY) == NASTY


@settings(max_examples=examples(1 / 15))
@given(values)
async def test_any_value_arrives_verbatim(texts: list[str]) -> None:
    assert await read_by_an_agent(STUB, texts) == texts


@pytest.mark.real
async def test_any_value_arrives_verbatim_through_the_real_mngr() -> None:
    chance = random.Random(20)
    mixed = ["".join(chance.choices("$`\\'\"{} \n\r\ta~é#", k=chance.randrange(12))) for _ in range(400)]
    assert await read_by_an_agent(REAL, NASTY + mixed) == NASTY + mixed


@pytest.mark.parametrize(("name", "value"), [("A B", "x"), ("", "x"), ("A=B", "x"), ("1A", "x"), ("A", "x\0y")])
def test_what_no_environment_can_hold_is_refused(name: str, value: str) -> None:
    with pytest.raises(MngrFailed) as refused:
        env_file({name: value}, {})
    assert refused.value.reason == "refused"
