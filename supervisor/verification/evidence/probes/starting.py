"""The `sitecustomize` of runs that gather evidence: begins to take notes, and lets another one have its turn.

(For pytest: PYTEST_DONT_REWRITE.)
"""

import importlib.machinery
import importlib.util
import os
import sys
from contextlib import suppress

HERE = os.path.dirname(os.path.abspath(__file__))

for _probe in ("_reaching_probe", "_asking_probe"):
    with suppress(Exception):
        __import__(_probe)

_elsewhere = [each for each in sys.path if os.path.abspath(each or os.curdir) != HERE]
_next = importlib.machinery.PathFinder.find_spec("sitecustomize", _elsewhere)
if _next is not None and _next.loader is not None:
    _module = importlib.util.module_from_spec(_next)
    _next.loader.exec_module(_module)
