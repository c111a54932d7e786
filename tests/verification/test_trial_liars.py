"""What code under trial does to look as if its test had passed, and what is seen of it."""

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from supervisor.verification.trials.asking import Unready
from supervisor.verification.trials.receiving import Receiver
from tests.leaks import adopting_nobody
from tests.verification.arena import APP, DOUBLE, TESTS, arena

FIXED = APP.replace(" + 1", "")
#: of the report that was read before there was a reporter
FORGED = '<testsuite><testcase classname="test_app" name="test_double"/></testsuite>'


#: each by what it says of itself: the files it changes, and what must be told of it
LIARS: dict[str, tuple[dict[str, str | bytes | None], str]] = {
    "leaves when it is imported": (
        {"app.py": f"import os\nos._exit(0)\n{APP}"},
        "pytest ended with 0 before its session did",
    ),
    "leaves when it is called": (
        {"app.py": "import os\n\n\ndef double(n):\n    os._exit(0)\n"},
        "it fails: it was not run to its end",
    ),
    "leaves after the report that it could not change": (
        {"app.py": f"import atexit, os\natexit.register(os._exit, 0)\n{APP}"},
        "it fails: assert 5 == 4",
    ),
    "asks pytest to leave": (
        {"app.py": "import pytest\n\n\ndef double(n):\n    pytest.exit('done', returncode=0)\n"},
        "it fails: Exit: done",
    ),
    "ends the process by a signal": (
        {"app.py": "import os, signal\n\n\ndef double(n):\n    os.kill(os.getpid(), signal.SIGKILL)\n"},
        "it fails: it was not run to its end",
    ),
    "leaves by a thread": (
        {
            "app.py": "import os, threading, time\n\n\ndef double(n):\n"
            "    threading.Thread(target=os._exit, args=(0,)).start()\n    time.sleep(60)\n"
        },
        "it fails: it was not run to its end",
    ),
    "leaves by a timer": (
        {
            "app.py": "import os, signal, time\n\n\ndef double(n):\n"
            "    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))\n    signal.alarm(1)\n    time.sleep(60)\n"
        },
        "it fails: it was not run to its end",
    ),
    "writes a report of its own and leaves": (
        {
            "app.py": "import os, sys\nfrom pathlib import Path\n"
            "for each in sys.argv:\n    if each.startswith('--junit'):\n"
            "        Path(each.partition('=')[2]).write_text('<testsuites/>')\n"
            "for place in (Path(), Path('..'), Path(os.environ['TMPDIR'])):\n"
            f"    (place / 'report-0.xml').write_text({FORGED!r})\nos._exit(0)\n"
        },
        "pytest ended with 0 before its session did",
    ),
    "speaks on the reporter's line": (
        {
            "app.py": "import json, os, socket, stat\n\n\ndef double(n):\n"
            "    for fd in range(3, 200):\n"
            "        try:\n            if not stat.S_ISSOCK(os.fstat(fd).st_mode):\n                continue\n"
            "            line = socket.socket(fileno=os.dup(fd))\n"
            "            for when in ('setup', 'call', 'teardown'):\n"
            "                for kind in ('phase', 'report'):\n"
            "                    line.send(json.dumps(dict(kind=kind, node='test_app.py::test_double', when=when,\n"
            "                        nonce='', outcome='passed', ran='returned')).encode())\n"
            "            line.send(json.dumps(dict(kind='end', nonce='', exitstatus=0)).encode())\n"
            "        except OSError:\n            pass\n    os._exit(0)\n"
        },
        "something other than pytest reported in its name",
    ),
    "closes the reporter's line": (
        {"app.py": f"import os\nos.closerange(3, 200)\n\n\n{APP}"},
        "pytest ended with 1 before its session did",
    ),
    "makes every report a good one": (
        {
            "app.py": "import _pytest.reports\nmade = _pytest.reports.TestReport.from_item_and_call.__func__\n\n\n"
            "def good(cls, item, call):\n    report = made(cls, item, call)\n"
            "    report.outcome, report.longrepr = 'passed', None\n    return report\n\n\n"
            f"_pytest.reports.TestReport.from_item_and_call = classmethod(good)\n{APP}"
        },
        "it fails: AssertionError: assert 5 == 4, which something kept from its report",
    ),
    "never hears what a call raises": (
        {
            "app.py": "import _pytest.runner\nmade = _pytest.runner.CallInfo.from_call.__func__\n\n\n"
            "def deaf(cls, func, when, reraise=None):\n    result = made(cls, func, when, reraise)\n"
            "    result.excinfo = None\n    return result\n\n\n"
            f"_pytest.runner.CallInfo.from_call = classmethod(deaf)\n{APP}"
        },
        "it fails: AssertionError: assert 5 == 4, which something kept from its report",
    ),
    "swallows what a test raises": (
        {
            "app.py": "import _pytest.python\nran = _pytest.python.Function.runtest\n\n\ndef quiet(self):\n    try:\n"
            "        ran(self)\n    except BaseException:\n        pass\n\n\n"
            f"_pytest.python.Function.runtest = quiet\n{APP}"
        },
        "it fails: its function raised what something kept from pytest",
    ),
    "never calls a test": (
        {"app.py": f"import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n{APP}"},
        "it fails: its function was never called",
    ),
    "says that the session was fine": (
        {
            "conftest.py": "import pytest\n\n\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n"
            "    session.exitstatus = 0\n"
        },
        "it fails: assert 5 == 4",
    ),
    "runs no test": (
        {"conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n"},
        "no test was run",
    ),
    "runs another test": (
        {
            "conftest.py": "def pytest_collection_modifyitems(session, items):\n"
            "    items[:] = [each for each in items[0].parent.collect() if each.name == 'test_text']\n"
        },
        f"{DOUBLE} was not run",
    ),
    "has a main loop of its own": (
        {"conftest.py": "def pytest_runtestloop(session):\n    return True\n"},
        "no test was run",
    ),
    "skips": (
        {"app.py": f"import sys\nsys.modules['pytest'].skip('no', allow_module_level=True)\n{APP}"},
        "no test was run",
    ),
    "skips when it is called": (
        {"app.py": "import pytest\n\n\ndef double(n):\n    pytest.skip('not here')\n"},
        "it was skipped: Skipped: not here (app.py:5)",
    ),
    "expects to fail": (
        {"test_app.py": "import pytest\n" + TESTS.replace("def test_double", "@pytest.mark.xfail\ndef test_double")},
        "it was skipped",
    ),
    "brings byte code without a source": (
        {"app.py": None, "app.pyc": b"\x00"},
        "ModuleNotFoundError: No module named 'app'",
    ),
    "stands in front of what pytest imports": (
        {"pluggy.py": "import os\nos._exit(0)\n"},
        "pluggy.py would be imported in place of a module that pytest itself needs",
    ),
    "hides its exit code": (
        {"app.py": f"import os, sys\nsys.modules['_pytest.config'].console_main = lambda: 0\n{APP}"},
        "it fails: assert 5 == 4",
    ),
}


#: the others are of the same kinds, and each costs a run
TRIED_OFTEN = {
    "leaves when it is called",
    "asks pytest to leave",
    "speaks on the reporter's line",
    "makes every report a good one",
    "swallows what a test raises",
    "never calls a test",
    "runs another test",
    "skips when it is called",
    "brings byte code without a source",
    "stands in front of what pytest imports",
}
EACH = [pytest.param(liar, marks=[] if liar in TRIED_OFTEN else [pytest.mark.proof]) for liar in LIARS]


@pytest.mark.parametrize("liar", EACH)
async def test_who_lies_has_not_passed(liar: str, tmp_path: Path) -> None:
    files, told = LIARS[liar]
    async with arena(tmp_path) as here:
        try:
            run = await here.run(files)
        except Unready as unready:
            why = str(unready)
        else:
            assert not run.passed
            assert not run.held
            why = run.why_not
    assert told in why


async def test_who_tells_the_truth_has_passed(tmp_path: Path) -> None:
    async with arena(tmp_path) as here:
        run = await here.run({"app.py": FIXED})

    assert (run.passed, run.why_not, run.session is not None) == (True, "", True)
    case = run.cases[DOUBLE]
    assert (case.result, case.origin, case.line, case.name, case.ran) == (
        "passed",
        "test_app.py",
        4,
        "test_double",
        "returned",
    )


async def test_who_is_outside_of_the_run_is_not_heard() -> None:
    """A stranger, such as another job's agent, is turned away; the reporter that comes after it is heard."""
    stranger = (
        "import os, socket, sys\nparent = os.getpid()\nif os.fork():\n    os._exit(0)\n"
        "while os.getppid() == parent:\n    pass\n"
        "line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\nline.connect(chr(0) + sys.argv[1])\n"
        "print(line.recv(100))\n"
    )
    receiver = Receiver()
    async with receiver.listening() as ear:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(f"\0{ear.name}")
        listener.listen(1)
        ear.opened(listener)
        argv = [sys.executable, "-c", stranger, receiver.name]
        with adopting_nobody():
            process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
            said, _ = await process.communicate()
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        await asyncio.to_thread(line.connect, f"\0{receiver.name}")
        nonce = await asyncio.to_thread(line.recv, 100)
        line.close()

        assert (said, len(nonce)) == (b"b''\n", 32)
        assert (await receiver.heard()).is_connected
