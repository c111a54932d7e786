"""Whatever configures pytest: its settings in any file that it reads, plugins, and hooks in files of tests."""

import ast
import configparser
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from supervisor.verification.rules.judged import Breach, FileChange

_OWN = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")


def settings_breaches(change: FileChange) -> Iterator[Breach]:
    before, after = (_settings(change.path, text) for text in (change.before, change.after))
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    for key in changed:
        says_so = "timeout" in key or "timeout" in before.get(key, "") + after.get(key, "")
        yield Breach("timeout" if says_so else "configuration", f"changes the pytest setting {key} in {change.path}")


def _settings(path: str, text: str | None) -> Mapping[str, str]:
    """The pytest settings in a file."""
    name = PurePosixPath(path).name
    if text is None:
        return {}
    #: the existence of such a file decides which one pytest reads
    there = {"(this file)": "is there"} if name in _OWN else {}
    if name.endswith("pytest.toml") or name == "pyproject.toml":
        return _of_toml(text, name) or there
    if name in (*_OWN, "tox.ini", "setup.cfg"):
        return _of_ini(text) or there
    return {}


def _of_toml(text: str, name: str) -> Mapping[str, str]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {"(unreadable)": text}
    if name == "pyproject.toml":
        tool = table.get("tool", {})
        table = tool.get("pytest", {}) if isinstance(tool, dict) else {"(all)": tool}
        options = table.get("ini_options", table) if isinstance(table, dict) else {"(all)": table}
    else:
        options = table.get("pytest", {})
    return (
        {key: repr(value) for key, value in options.items()}
        if isinstance(options, dict)
        else {"(all)": repr(options)}
    )


def _of_ini(text: str) -> Mapping[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {"(unreadable)": text}
    sections = [parser[name] for name in ("pytest", "tool:pytest") if name in parser]
    return {key: value for section in sections for key, value in section.items()}


def plugin_breaches(path: str, before: ast.Module | None, after: ast.Module, is_test: bool) -> Iterator[Breach]:
    """Plugins that a module loads; in files of tests also hooks, and packages that run code before their tests."""
    was = _plugins(before) if before else Counter()
    for name in sorted((_plugins(after) - was).keys()):
        if "pytest_plugins" in name or is_test:
            yield Breach("configuration", f"{path} has `{name[:80]}`, which decides how tests are run")
    if is_test and path.endswith("__init__.py") and _works(after) != (_works(before) if before else []):
        yield Breach("conftest", f"{path} runs code before the tests beside it")


def _plugins(tree: ast.Module) -> Counter[str]:
    """Assignments of `pytest_plugins` with their values, and hooks."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
            found.update({ast.unparse(node)} if "pytest_plugins" in names else ())
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("pytest_"):
            found[node.name] += 1
    return found


def _works(tree: ast.Module) -> list[str]:
    """Statements of a module with an effect: neither its docstring nor an import from its own package."""
    return [
        ast.dump(node)
        for node in tree.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        and not (isinstance(node, ast.ImportFrom) and (node.level or node.module == "__future__"))
    ]
