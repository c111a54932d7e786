"""The lines of a claude are those of its own transcript, as it writes them; what they took is counted elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.kinds import claude
from supervisor.model.usage import Usage
from tests.adapters.log_box import ATTEMPT, Box, said


def own(box: Box, *lines: dict[str, Any]) -> None:
    path = box.state / claude.RAW
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


def answer(n: int, *blocks: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "id": f"msg_{n}", "model": "model-1", "content": list(blocks)}
    return {"type": "assistant", "timestamp": "2026-11-18T14:22:27.714Z", "message": message}


def given(content: object, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}} | more


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id_: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}


def result(id_: str, content: object, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content} | more


def told(box: Box) -> list[tuple[str, str, dict[str, Any]]]:
    box.rounds()
    return [(row["kind"], row["text"], row["data"]) for row in box.log()]


def converted(box: Box, n: int) -> None:
    box.write(said(n), source=claude.CONVERTED)


def test_a_line_is_there_before_the_converter_has_come_to_it(tmp_path: Path) -> None:
    box = Box(tmp_path)
    own(box, given("Do it."), answer(1, text("I look.")), answer(1, call("t1", "ls")))
    assert told(box) == [
        ("say", "Do it.", {"by": "user"}),
        ("say", "I look.", {"by": "agent", "model": "model-1"}),
        ("tool", "command: ls", {"tool": "Bash"}),
    ]
    own(box, given([result("t1", "app.py", is_error=False)]))
    assert told(box)[3:] == [("result", "app.py", {"tool": "Bash", "error": False})]
    assert [row["at"] for row in box.log()][1] == "2026-11-18T14:22:27.714Z"


def test_no_line_is_there_twice_and_tokens_are_the_converters(tmp_path: Path) -> None:
    box = Box(tmp_path)
    own(box, answer(1, text("one")))
    assert box.texts() == ["one"]
    converted(box, 1)
    own(box, answer(2, text("two")))
    converted(box, 2)
    box.restarted()
    own(box, answer(3, text("three")))
    assert box.texts() == ["one", "two", "three"]
    assert box.sight.usage == Usage(input=120, output=3, cached=180, model="model-1", context=202)


def test_both_at_the_first_look_are_one(tmp_path: Path) -> None:
    box = Box(tmp_path)
    own(box, answer(1, text("one")))
    converted(box, 1)
    assert box.texts() == ["one"]
    assert box.sight.usage.output == 1


def test_an_agent_whose_lines_came_from_the_converter_goes_on_so(tmp_path: Path) -> None:
    """One that was there before: its own transcript would say all of it again."""
    box = Box(tmp_path)
    converted(box, 1)
    box.rounds()
    own(box, answer(1, text("m1")), answer(2, text("m2")))
    converted(box, 2)
    box.restarted()
    assert box.texts() == ["m1", "m2"]


def test_what_it_writes_down_for_itself_is_nobodys_words(tmp_path: Path) -> None:
    box = Box(tmp_path)
    own(box, {"type": "attachment", "attachment": {"content": "noise"}}, {"type": "mode", "mode": "normal"})
    own(box, given("<command-name>/clear</command-name>"), given(" <local-command-stdout>x", isMeta=True))
    own(box, answer(1, {"type": "thinking", "thinking": "hm"}), given([]))
    own(box, given("A hook says no.", isMeta=True), given("All that was said.", isCompactSummary=True))
    assert [(words, data["by"]) for _, words, data in told(box)] == [
        ("A hook says no.", "system"),
        ("Context compaction performed", "system"),
    ]


def test_results_are_read_in_all_their_forms(tmp_path: Path) -> None:
    box = Box(tmp_path)
    own(box, answer(1, call("t1", "a"), call("t2", "b")))
    image = {"type": "image", "source": {"data": "AAAA"}}
    own(box, given([result("t2", [text("two"), image, "three"]), result("t1", "no", is_error=True), text("stop")]))
    own(box, given([result("nobody's", None), result("t1", {"a": 1})]))
    assert told(box)[2:] == [
        ("say", "stop", {"by": "user"}),
        ("result", "two\n[image omitted]\nthree", {"tool": "Bash", "error": False}),
        ("result", "no", {"tool": "Bash", "error": True}),
        ("result", "", {"tool": "", "error": False}),
        ("result", "", {"tool": "", "error": False}),
    ]
    assert box.sight.usage.errors == 0, "the converter says so too, and is the one that counts"


@pytest.mark.parametrize(
    "line",
    [
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": [7, [], None, {"type": []}, {"type": "tool_use", "id": {}}]}},
        {"type": "assistant", "message": {"model": 7, "content": {"a": 1}}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": [], "content": 7}]}},
        {"type": ["user"], "message": "x"},
        {"type": "user", "message": [1]},
    ],
)
def test_no_line_of_it_stops_the_reading(tmp_path: Path, line: dict[str, Any]) -> None:
    box = Box(tmp_path)
    own(box, line, answer(1, text("after it")))
    assert box.texts()[-1] == "after it"
    assert box.ingest.finish(ATTEMPT, pane=False).output == 0


def test_a_secret_is_masked_and_escapes_are_out_over_the_blocks_of_a_message(tmp_path: Path) -> None:
    box = Box(tmp_path)
    own(
        box,
        answer(1, text("it is a-known-sec")),
        answer(1, text("ret\x1b[2J, yes")),
        answer(1, call("t", "echo a-known-secret")),
    )
    own(box, given([result("t", "x" * 20_000 + "a-known-secret")]))
    everything = "".join(box.texts())
    assert "\x1b" not in everything
    assert "known" not in everything
    assert "[secret], yes" in everything
    assert "more characters" in everything


def test_calls_without_a_result_are_not_remembered_forever(tmp_path: Path) -> None:
    box = Box(tmp_path)
    own(box, *(answer(n, call(f"t{n}", "x")) for n in range(claude.MOST_CALLS + 1)))
    own(box, given([result("t0", "first"), result(f"t{claude.MOST_CALLS}", "last")]))
    assert [(words, data["tool"]) for kind, words, data in told(box) if kind == "result"] == [
        ("first", ""),
        ("last", "Bash"),
    ]
