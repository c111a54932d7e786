"""Which programs can be watched from inside."""

import sys
from pathlib import Path

import pytest

from supervisor.verification.evidence.probes.programs import expected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "tool": f"#!{sys.executable}\n",
        "blind": f"#!{sys.executable} -I\n",
        "script.sh": "#!/bin/sh\ncat data\n",
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "interpreters"),
    [
        ([sys.executable, "-m", "tool"], 1),
        ([sys.executable, "-W", "error", "x.py"], 1),
        ([sys.executable, "-I", "x.py"], -1),
        ([sys.executable, "-bS", "x.py"], -1),
        (["./tool", "list"], 1),
        (["./blind"], -1),
        (["./script.sh"], -1),
        (["cat", "data"], 0),
        (["cat", "."], -1),
        (["cp", "data", "."], 0),
        (["cp", "-r", ".", "x"], -1),
        (["grep", "-r", "x"], -1),
        (["./cat", "data"], -1),
        (["sed", "r data", "tool"], -1),
        (["bash", "script.sh"], -1),
        (["bash", "-c", "tool list"], 1),
        (["bash", "-c", "tool list && tool show 'a b' > out; echo done"], 2),
        (["bash", "-c", "KEY=1 tool list | tool sort"], 2),
        (["bash", "-c", "cd x\ntool list # cat\n"], 1),
        (["bash", "-c", "tool list\ncat data"], 1),
        (["bash", "-c", "tool list | grep x"], 1),
        (["bash", "-c", "cat *"], -1),
        (["bash", "-c", "cat $FILE"], -1),
        (["bash", "-c", "cd x\ncat data"], -1),
        (["bash", "-c", "tool list\nsed 1d data"], -1),
        (["bash", "-c", "tool < data"], -1),
        (["bash", "-c", "tool $(cat data)"], -1),
        (["bash", "-c", "tool `cat data`"], -1),
        (["bash", "-c", "$TOOL list"], -1),
        (["bash", "-c", "for x in a; do cat x; done"], -1),
        (["bash", "-c", "tool 'unfinished"], -1),
        (["nowhere"], -1),
    ],
)
def test_interpreters(words: list[str], interpreters: int, folder: Path) -> None:
    path = f"{folder}:/usr/bin:/bin"
    assert expected(words[0], words[1:], str(folder), path) == interpreters
