"""Where an exception came from: the frames of its traceback that are neither pytest's nor installed."""

from __future__ import annotations

from collections import deque
from typing import Any

_INSTALLED = ("site-packages", "dist-packages", "<")
_MOST = 12


def frames_of(error: Any, codes: Any) -> Any:
    """The last of them, the innermost at the end: each with its file, line and function, and whether that is the
    test itself, or defined inside of it."""
    frames: deque[Any] = deque(maxlen=_MOST)
    step = getattr(error, "__traceback__", None)
    while step is not None:
        code = step.tb_frame.f_code
        if not any(each in code.co_filename for each in _INSTALLED):
            frames.append([code.co_filename, step.tb_lineno or 0, code.co_name, _is_inside(code, codes)])
        step = step.tb_next
    return list(frames)


def _is_inside(code: Any, codes: Any) -> Any:
    return any(code is each or _is_inside(code, _inner(each)) for each in codes)


def _inner(code: Any) -> Any:
    return [each for each in code.co_consts if hasattr(each, "co_consts")]
