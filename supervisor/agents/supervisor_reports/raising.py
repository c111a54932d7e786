"""Where an exception came from: the innermost frames of its traceback that are neither Python's nor installed."""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import Any

_INSTALLED = ("site-packages", "dist-packages")
_OF_PYTHON = ("<", sys.prefix + os.sep + "lib", getattr(sys, "base_prefix", sys.prefix) + os.sep + "lib")
_MOST = 4


def frames_of(error: Any, codes: Any) -> Any:
    """The innermost at the end: each with its file, line and function, and whether that is the test itself, or is
    defined inside of it."""
    frames: deque[Any] = deque(maxlen=_MOST)
    step = getattr(error, "__traceback__", None)
    while step is not None:
        code = step.tb_frame.f_code
        file = code.co_filename
        if not file.startswith(_OF_PYTHON) and not any(each in file for each in _INSTALLED):
            frames.append([file, step.tb_lineno or 0, code.co_name, _is_inside(code, codes)])
        step = step.tb_next
    return list(frames)


def _is_inside(code: Any, codes: Any) -> Any:
    return any(code is each or _is_inside(code, _inner(each)) for each in codes)


def _inner(code: Any) -> Any:
    return [each for each in code.co_consts if hasattr(each, "co_consts")]
