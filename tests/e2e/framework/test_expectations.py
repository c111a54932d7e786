"""`expect`: claims that chain, negate, wait, and explain themselves when they fail."""

import itertools
import json
import re
from pathlib import Path

import pytest

from supervisor.e2e import E2e, expect

DOCUMENT = json.dumps({"batch": {"id": "b1", "jobs": [{"n": 1, "ok": True}, {"n": 2, "ok": False}]}, "a.b": None})


def failure_of(claim: object) -> str:
    assert callable(claim)
    with pytest.raises(AssertionError) as caught:
        claim()
    return str(caught.value)


def test_claims_about_results_chain(e2e: E2e) -> None:
    expect(e2e.run("echo out; echo err >&2")).to_succeed().to_have_exit_code(0).not_.to_fail().not_.to_time_out()
    expect(e2e.run("exit 7")).to_fail().to_have_exit_code(7).to_leave_nothing_behind().to_take_less_than(9)
    expect(e2e.run("echo out; echo err >&2")).stdout.to_equal("out\n")
    expect(e2e.run("echo out; echo err >&2")).stderr.to_equal("err\n").not_.to_be_empty()


def test_failure_tells_the_whole_story(e2e: E2e) -> None:
    """Nobody should have to run the command again to know why."""
    said = failure_of(lambda: expect(e2e.run("echo some output; echo why it broke >&2; exit 4")).to_succeed())
    assert "to succeed" in said
    assert "exit code 4" in said
    assert "why it broke" in said
    assert "some output" in said


def test_command_that_had_to_be_ended_has_not_failed(e2e: E2e) -> None:
    result = e2e.run("sleep 30", timeout=0.2)
    assert "timed out" in failure_of(lambda: expect(result).to_fail())


def test_claims_about_text() -> None:
    text = "alpha\n  beta \ngamma\n"
    expect(text).to_contain("beta", "gamma").not_to_contain("delta").to_match(r"^gam+a$").not_to_match(r"^beta")
    expect(text).to_have_lines("alpha", "gamma").to_have_line_count(3).to_equal(text).not_.to_equal("")
    expect("").to_be_empty()


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (lambda: expect("alpha").not_.to_contain("alp"), "not to contain 'alp'"),
        (lambda: expect("status: runing\nx\n").to_contain("status: running"), "nearest line is: status: runing"),
        (lambda: expect("a\nb\n").to_equal("a\nc\n"), "-c"),
        (lambda: expect("a  b\n").to_equal("a b\n"), "only in white space"),
        (lambda: expect("a").to_equal("a\n"), r"differ at character 1: expected 'a\n'"),
        (lambda: expect("x" * 900 + "a").to_equal("x" * 900 + "b"), "differ at character 900"),
        (lambda: expect("c\na\n").to_have_lines("a", "c"), "to have the lines"),
        (lambda: expect("x\x1b[31m").to_contain("y"), r"x\x1b[31m"),
        (lambda: expect("").to_contain("y"), "(nothing)"),
    ],
)
def test_failures_of_text_say_what_matters(claim: object, said: str) -> None:
    assert said in failure_of(claim)


def test_failure_never_drowns_its_reader() -> None:
    said = failure_of(lambda: expect("\n".join(["x" * 10_000] * 1_000)).to_contain("needle"))
    assert len(said) < 30_000
    assert "lines left out" in said


def test_json_is_reached_by_path() -> None:
    expect(DOCUMENT).json("batch.jobs[0].n").to_equal(1)
    expect(DOCUMENT).json("batch.jobs[-1].ok").to_equal(False)
    expect(DOCUMENT).json("batch.jobs[*].n").to_equal([1, 2]).to_contain(2).to_have_length(2)
    expect(DOCUMENT).json('["a.b"]').to_equal(None)
    expect(DOCUMENT).json("batch").to_contain("id").not_.to_contain("name")
    expect(DOCUMENT).to_match_json("batch.id", "b1").to_match_json("batch.id", re.compile("^b"))
    expect(DOCUMENT).to_match_json("batch", {"jobs": [{"n": 1}, {"n": ...}]}).not_.to_match_json("batch.id", "b2")


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (lambda: expect(DOCUMENT).json("batch.jobs[5]").to_equal(1), "batch.jobs has 2 elements, no [5]"),
        (lambda: expect(DOCUMENT).json("batch.name").to_equal(1), "batch has no 'name'; it has 'id', 'jobs'"),
        (lambda: expect(DOCUMENT).json("batch.id.x").to_equal(1), "batch.id is not an object but text"),
        (lambda: expect("not json").json("a").to_equal(1), "this is not JSON"),
        (lambda: expect(DOCUMENT).json("batch.jobs[0]").to_equal({"n": 1, "ok": False}), '-"ok": false'),
    ],
)
def test_failures_of_json_say_where(claim: object, said: str) -> None:
    assert said in failure_of(claim).replace(" " * 2, "").replace("- ", "-")


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (lambda: expect("text").to_succeed(), "about the result of e2e.run"),
        (lambda: expect(b"bytes").to_contain("x"), "decode them first"),
        (lambda: expect(5).to_match("x"), "not about a number"),
        (lambda: expect("text").to_contain(5), "text can contain text"),
        (lambda: expect("text").eventually().to_contain("x"), "can never change"),
        (lambda: expect("{}").json("a..b"), "is not a path"),
        (lambda: expect(expect("x")), "already an expectation"),
    ],
)
def test_wrong_uses_say_what_to_write(claim: object, said: str) -> None:
    assert callable(claim)
    with pytest.raises(TypeError, match=said):
        claim()


def test_text_claims_on_a_result_say_which_text(e2e: E2e) -> None:
    with pytest.raises(TypeError, match=r"expect\(result\)\.stdout\.to_contain"):
        expect(e2e.run("echo x")).to_contain("x")


def test_eventually_asks_a_function_again() -> None:
    """Errors on the way, such as a file that is not there yet, are part of waiting."""
    answers = iter(["", "almost"])

    def answer() -> str:
        try:
            return next(answers)
        except StopIteration:
            return "there"

    expect(answer).eventually(timeout=5, interval=0.01).to_contain("there")
    missing = iter([FileNotFoundError("not yet")])

    def read() -> str:
        for error in missing:
            raise error
        return "found"

    expect(read).eventually(timeout=5, interval=0.01).to_equal("found")


def test_eventually_runs_a_command_again(e2e: E2e) -> None:
    result = e2e.run('echo x >>count; test "$(wc -l <count)" -ge 3 && echo enough')
    expect(result).to_fail()
    expect(result).eventually(timeout=10, interval=0.01).to_succeed()
    expect(result).eventually(timeout=10, interval=0.01).stdout.to_contain("enough")


def test_eventually_gives_up_and_says_how_often_it_tried() -> None:
    counter = itertools.count()
    said = failure_of(lambda: expect(lambda: str(next(counter))).eventually(0.05, 0.01).to_equal("x"))
    assert re.search(r"never came true within 0.05 s \(\d+ tries\)", said)


def test_eventually_can_wait_for_the_opposite(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    answers = iter([True])
    expect(lambda: next(answers, False)).eventually(5, 0.01).not_.to_equal(True)
    expect(file).not_.to_exist()


def test_soft_failures_are_told_together() -> None:
    said = failure_of(_three_claims)
    assert said.startswith("2 expectations failed")
    assert "1. expected" in said
    assert "2. expected" in said


def _three_claims() -> None:
    with expect.soft():
        expect("a").to_equal("b")
        expect("c").to_equal("c")
        expect("d").to_contain("e")


def test_files_are_text_too(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("hello\n")
    expect(tmp_path / "f").to_exist().to_contain("hello").to_equal("hello\n")
