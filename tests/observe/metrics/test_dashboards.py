"""The dashboard and the alert rules that we ship: every expression is PromQL, of metrics that there are."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tests.observe.metrics.lint import families
from tests.observe.metrics.test_exposition import a_night

CONFIG = Path(__file__).parents[3] / "config"
RULES = CONFIG / "prometheus" / "alerts.yml"
DASHBOARD = CONFIG / "grafana" / "agent-supervisor.json"


def alerts() -> list[dict[str, Any]]:
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


EXPRESSIONS = [rule["expr"] for rule in alerts()] + [
    target["expr"] for panel in panels() for target in panel.get("targets", ())
]


def selectors(node: Any) -> Iterator[promql_parser.VectorSelector]:
    """All that an expression selects, wherever it stands."""
    match node:
        case promql_parser.VectorSelector():
            yield node
        case promql_parser.MatrixSelector():
            yield node.vector_selector
        case promql_parser.BinaryExpr():
            yield from selectors(node.lhs)
            yield from selectors(node.rhs)
        case promql_parser.Call():
            for each in node.args:
                yield from selectors(each)
        case promql_parser.AggregateExpr() | promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            yield from selectors(node.expr)
        case promql_parser.NumberLiteral() | promql_parser.StringLiteral():
            return
        case _:
            raise AssertionError(f"an expression of a kind that this test does not know: {node!r}")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_selects_what_there_is(expression: str) -> None:
    labels = {s.name: set(s.labels) for family in families(a_night().text) for s in family.samples}
    found = list(selectors(promql_parser.parse(expression)))
    assert found
    for selector in found:
        assert selector.name in labels
        asked = {matcher.name for matcher in selector.matchers.matchers} - {"job", "__name__"}
        assert asked <= labels[selector.name], f"{selector.name} has no such label"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_a_label_is_compared_with_it_can_be(expression: str) -> None:
    text = a_night().text
    for label, value in re.findall(r'(\w+)="([^"]*)"', expression):
        if (label, value) == ("result", "ok"):
            continue
        assert f'{label}="{value}"' in text


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert re.fullmatch(r"AgentSupervisor[A-Za-z]+", rule["alert"])
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["annotations"]["summary"].endswith(".")
    assert len(rule["annotations"]["description"]) > 20


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_takes_the_rules() -> None:
    ran = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    taken = set[tuple[int, int]]()
    for panel in panels():
        where = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(where["x"], where["x"] + where["w"])
            for y in range(where["y"], where["y"] + where["h"])
        }
        assert not cells & taken, panel["title"]
        assert where["x"] + where["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in panels()}) == len(panels())
    assert all(panel["title"] for panel in panels())


def test_every_metric_of_ours_that_a_person_would_watch_is_on_the_dashboard_or_alerted_on() -> None:
    used = {selector.name for each in EXPRESSIONS for selector in selectors(promql_parser.parse(each))}
    ours = {family.name for family in families(a_night().text) if family.name.startswith("agent_supervisor_")}
    unused = {name for name in ours if not any(str(each).startswith(name) for each in used)}
    counted_elsewhere = {
        "account_paused_seconds",
        "account_tokens",
        "account_dollars",
        "queue_paused",
        "ledger_rows",
        "pauses",
        "agents",
        "batches",
        "claims_verifying",
    }
    assert unused <= {f"agent_supervisor_{name}" for name in counted_elsewhere}
