"""The check's result for CI systems: JUnit XML and GitHub annotations."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from supervisor.e2e.tutorial.check import Report
from supervisor.e2e.tutorial.report import command_of, diff_of, excuse, meaning, summary

ANNOTATIONS = 10  # GitHub shows no more errors than this per step

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem and its position."""

    path: str
    line: int
    title: str
    message: str


def findings(report: Report) -> Iterator[Finding]:
    """Everything that makes the check fail; stale before uncited, which are often the same block."""
    for problem in report.tutorial.problems:
        yield Finding(report.script, problem.line, "tutorial can't be read", problem.message)
    for unreadable in report.unreadable:
        yield Finding(unreadable.path, unreadable.line, "test can't be read", unreadable.message)
    for stale in report.stale:
        message = "\n".join([f"{stale.test.name}: {meaning(report, stale)}", *diff_of(report, stale)])
        yield Finding(stale.test.path, stale.citation.line, "stale citation", message)
    for test, rejected in report.rejected:
        yield Finding(test.path, rejected.line, "citation can't be checked", f"{test.name}: {rejected.message}")
    for block in report.new_uncited:
        message = f"{excuse(report, block)}no test cites {block.id}\n{block.text}"
        yield Finding(report.script, block.line, "uncited block", message)
    for test in report.new_uncited_tests:
        yield Finding(test.path, test.line, "test without a block", f"{test.name} cites no block")


def as_annotations(report: Report) -> str:
    """Workflow commands; beyond GitHub's limit, one with the number of further findings."""
    found = list(findings(report))
    shown = found if len(found) <= ANNOTATIONS else found[: ANNOTATIONS - 1]
    lines = [
        f"::error file={_property(each.path)},line={each.line},title={_property(each.title)}::{_data(each.message)}"
        for each in shown
    ]
    if len(found) > len(shown):
        rest = f"{len(found) - len(shown)} more findings are not shown. {summary(report)}"
        lines.append(f"::error file={_property(report.script)},title=tutorial check::{_data(rest)}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_junit(report: Report) -> str:
    """One case per block, and one per finding that is not a block."""
    suite = Xml.Element("testsuite", name="tutorial")
    failures = {block.id for block in report.new_uncited}
    skips = {block.id: f"waived: {block.waiver.reason}" for block in report.waived if block.waiver}
    skips |= {block.id: "in the baseline" for block in report.uncited if block.id not in failures}
    for block in report.tutorial.blocks:
        case = _case(suite, report.script, block.id, report.script, block.line)
        if block.id in failures:
            failure = Xml.SubElement(case, "failure", message=_clean(f"no test cites: {command_of(block)}"))
            failure.text = _clean(block.text)
        elif block.id in skips:
            Xml.SubElement(case, "skipped", message=_clean(skips[block.id]))
    others = [each for each in findings(report) if each.title != "uncited block"]
    for each in others:
        case = _case(suite, each.path, f"{each.title} at line {each.line}", each.path, each.line)
        Xml.SubElement(case, "failure", message=each.title).text = _clean(each.message)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(failures) + len(others)))
    suite.set("skipped", str(len(skips)))
    Xml.indent(suite)
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: Xml.Element, group: str, name: str, path: str, line: int) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=_clean(group), name=name, file=_clean(path), line=str(line))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
