"""Paths into JSON such as `jobs[0].name`, `["a.b"].c`, `[*].id`; and partial matching of values."""

import re
from collections.abc import Iterator

_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]"']+) | \[(?P<index>-?\d+)\] | \[(?P<all>\*)\] | \[(?P<q>["'])(?P<quoted>.*?)(?P=q)\]""",
    re.VERBOSE,
)


class NoSuchPath(LookupError):
    """The document has no value at this path."""


def steps(path: str) -> Iterator[str | int | None]:
    """Names, indexes, and None for `[*]`."""
    position = 1 if path.startswith("$") else 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            raise TypeError(f'{path!r} is not a path: write it like jobs[0].name, ["a.b"].c or [*].id')
        position = found.end()
        if found["index"] is not None:
            yield int(found["index"])
        elif found["all"]:
            yield None
        else:
            yield found["name"] if found["name"] is not None else found["quoted"]


def look_up(document: object, path: str) -> object:
    return _follow(document, tuple(steps(path)), "")


def _follow(value: object, rest: tuple[str | int | None, ...], walked: str) -> object:
    if not rest:
        return value
    step, *others = rest
    here = walked or "the document"
    if step is None:
        if not isinstance(value, list):
            raise NoSuchPath(f"{here} is not a list but {_kind(value)}")
        return [_follow(each, tuple(others), f"{walked}[{index}]") for index, each in enumerate(value)]
    if isinstance(step, int):
        if not isinstance(value, list):
            raise NoSuchPath(f"{here} is not a list but {_kind(value)}")
        if not -len(value) <= step < len(value):
            raise NoSuchPath(f"{here} has {len(value)} elements, no [{step}]")
        return _follow(value[step], tuple(others), f"{walked}[{step}]")
    if not isinstance(value, dict):
        raise NoSuchPath(f"{here} is not an object but {_kind(value)}")
    if step not in value:
        raise NoSuchPath(f"{here} has no {step!r}; it has {', '.join(map(repr, value)) or 'nothing'}")
    return _follow(value[step], tuple(others), f"{walked}.{step}".lstrip("."))


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "text", type(None): "null"}.get(type(value), repr(value))


def matches(found: object, wanted: object) -> bool:
    """Objects may have more names than expected; `...` matches anything; a compiled pattern is searched in text."""
    if wanted is ...:
        return True
    if isinstance(wanted, re.Pattern):
        return isinstance(found, str) and wanted.search(found) is not None
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and matches(found[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(matches, found, wanted))
    return type(found) is type(wanted) and found == wanted if isinstance(wanted, bool) else found == wanted
