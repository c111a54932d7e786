"""The pytest plugin: the `e2e` fixture and its options. It does nothing, and loads quickly, until they are used."""

import os
import shutil
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from supervisor.e2e.results import TestRecord
    from supervisor.e2e.session import E2e

STARTED = pytest.StashKey[float]()
RECORD = pytest.StashKey["TestRecord"]()
DIRECTORY = pytest.StashKey[Path]()
MARKER = "tutorial(*ids): the tutorial blocks that this test covers, by id (`supervisorctl tutorial blocks FILE`)"
_RUN = "e2e_run_directory"
_EXCERPT = 6000


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("e2e", "end-to-end tests of command-line tools")
    group.addoption(
        "--e2e-artifacts",
        choices=("yes", "on-failure", "no"),
        default="yes",
        help="keep transcripts, recordings and result.json of all tests, of failed tests, or of none",
    )
    group.addoption("--e2e-dir", metavar="DIR", help="where to keep them (default: .test_output/e2e/<run>)")
    group.addoption("--e2e-run-name", metavar="NAME", help="the name of this run (default: time and process)")
    group.addoption("--e2e-keep-home", action="store_true", help="keep each test's private home directory")
    parser.addini("e2e_passenv", "environment variables that commands under test may see", type="linelist")
    # The check of a tutorial, `tutorial/pytest_item.py`, which is imported only where a tutorial is configured.
    parser.addini("tutorial", "the tutorial script that the tests cite", type="string", default="")
    parser.addini("tutorial_tests", "the folders of the tests that cite it", type="args", default=[])
    parser.addini("tutorial_baseline", "gaps that are allowed for now", type="string", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    name = config.getoption("--e2e-run-name") or f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}"
    chosen = config.getoption("--e2e-dir")
    directory = Path(chosen) if chosen else config.rootpath / ".test_output" / "e2e" / name
    config.stash[DIRECTORY] = Path(worker.get(_RUN, config.invocation_params.dir / directory))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the run's folder to a worker of pytest-xdist."""
    node.workerinput[_RUN] = str(node.config.stash[DIRECTORY])


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: Any, sched: Any) -> None:
    """A worker of pytest-xdist died: complete its test's record, which would stay `running`."""
    from supervisor.e2e.results import mark_killed

    mark_killed(sched.config.stash[DIRECTORY], crashitem)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not parent.config.getini("tutorial"):
        return None
    from supervisor.e2e.tutorial.pytest_item import collect_file

    return collect_file(file_path, parent)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getini("tutorial"):
        from supervisor.e2e.tutorial.pytest_item import collect

        collect(session, config, items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[STARTED] = time.monotonic()
    return (yield)


@pytest.fixture
def e2e(request: pytest.FixtureRequest) -> Generator["E2e"]:
    """Runs commands under test; see `supervisor.e2e.session.E2e`."""
    from supervisor.e2e.budget import Budget, limit_of
    from supervisor.e2e.environment import Home
    from supervisor.e2e.session import E2e

    item: pytest.Item = request.node
    record = _new_record(item)
    home = Home.make()
    keep_home = request.config.getoption("--e2e-keep-home")
    session = E2e(
        record,
        Budget(item.stash.get(STARTED, time.monotonic()), limit_of(item)),
        home,
        request.config.getini("e2e_passenv"),
    )
    try:
        yield session
    finally:
        session.close()
        record.home = str(home.root) if keep_home else None
        if not keep_home:
            home.remove()


def _new_record(item: pytest.Item) -> "TestRecord":
    from supervisor.e2e.results import TestRecord, new_attempt

    run_directory = _prepared(item.config.stash[DIRECTORY])
    directory, attempt = new_attempt(run_directory, item.nodeid)
    path, line, _ = item.location
    record = TestRecord(item.nodeid, directory, attempt, location=f"{path}:{(line or 0) + 1}")
    for marker in item.iter_markers("tutorial"):
        record.citations += [{"kind": "id", "text": str(name)} for name in marker.args]
    record.docstring = getattr(getattr(item, "function", None), "__doc__", None) or ""
    record.cites = _cites(item)
    record.write()
    item.stash[RECORD] = record
    return record


def _cites(item: pytest.Item) -> list[dict[str, object]] | None:
    from supervisor.e2e.tutorial.recorded import cites

    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return cites(item.path, "::".join([*classes, getattr(item, "originalname", None) or item.name]))


def _prepared(directory: Path) -> Path:
    """The run's folder, which git is told to ignore."""
    directory.mkdir(parents=True, exist_ok=True)
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return directory


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    record = item.stash.get(RECORD, None)
    if record is None and report.when == "setup" and not report.passed and "e2e" in getattr(item, "fixturenames", ()):
        record = _new_record(item)  # it was skipped, or failed, before it used `e2e`
    if record is not None:
        _note(item, report, record)
    return report


def _note(item: pytest.Item, report: pytest.TestReport, record: "TestRecord") -> None:
    status = report.outcome if not hasattr(report, "wasxfail") else _expected_failure(report)
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext  # a skip's reason
    record.add_phase(report.when or "call", status, report.duration, why)
    transcript_file = record.directory / "transcript.txt"
    if report.failed and transcript_file.exists():
        transcript = transcript_file.read_text(encoding="utf-8", errors="replace")
        report.sections.append((f"e2e transcript, {record.directory}", transcript[-_EXCERPT:]))
    if report.when == "teardown":
        del item.stash[RECORD]
        record.complete()
        keep = item.config.getoption("--e2e-artifacts")
        if keep == "no" or (keep == "on-failure" and not record.is_failure):
            shutil.rmtree(record.directory, ignore_errors=True)
        else:
            record.write()


def _expected_failure(report: pytest.TestReport) -> str:
    return "xfailed" if report.skipped else "xpassed" if report.passed else report.outcome
