"""Names the test that runs to each program that it starts, also to those that are given an environment of their own.

(For pytest: PYTEST_DONT_REWRITE.)
"""

from __future__ import annotations

import os
import sys
from typing import Any

TEST = "PYTEST_CURRENT_TEST"
#: which of the arguments of an event is the environment
_ENVIRONMENT = {"subprocess.Popen": 3, "os.exec": 2, "os.posix_spawn": 2}


def _heard(event: str, arguments: Any) -> None:
    if (place := _ENVIRONMENT.get(event)) is not None:
        env, test = arguments[place], os.environ.get(TEST)
        if isinstance(env, dict) and test is not None:
            env[TEST] = test


sys.addaudithook(_heard)
