"""The product stands on anyio. The event loop itself is touched where a library needs it, and nowhere else."""

import ast
from pathlib import Path

from tests.shape.sources import ROOT

#: where, and why
USES = {
    "supervisor/adapters/sqlite/thread.py": "a connection has one thread of its own; anyio's threads are anybody's",
    "supervisor/gate/wire.py": "uvicorn's protocols are asyncio's: the type of what they are given",
    "supervisor/control/peers.py": "uvicorn's protocols are asyncio's: the type of what they are given",
}
#: what others may have started in an interpreter of theirs is none of ours
ELSEWHERE = ("supervisor/e2e/", "supervisor/agents/", "supervisor/rehearsal/target/")


def imports_asyncio(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == "asyncio" for name in names):
            return True
    return False


def test_asyncio_is_imported_where_a_library_needs_it_and_nowhere_else() -> None:
    modules = {str(path.relative_to(ROOT)): path for path in (ROOT / "supervisor").rglob("*.py")}
    found = {name for name, path in modules.items() if not name.startswith(ELSEWHERE) and imports_asyncio(path)}
    assert found == set(USES)
