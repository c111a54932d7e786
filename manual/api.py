"""The routes of the HTTP API and the shapes that they take and give, from the OpenAPI document that it serves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from supervisor.control.desk import Desk
from supervisor.control.server import application


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    about: str
    #: name, type, meaning
    parameters: tuple[tuple[str, str, str], ...]
    takes: str
    gives: str


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    about: str
    fields: tuple[tuple[str, str, str], ...]


@cache
def document() -> Mapping[str, Any]:
    """No route is called, so nothing of a daemon is needed."""
    return application(cast("Desk", None)).openapi()


def routes() -> Iterator[Route]:
    for path, methods in document()["paths"].items():
        for method, told in methods.items():
            parameters = tuple(
                (each["name"], kind(each["schema"]), each.get("description", ""))
                for each in told.get("parameters", ())
            )
            yield Route(
                method.upper(),
                path,
                " ".join(told.get("description", told.get("summary", "")).split()),
                parameters,
                _content(told.get("requestBody", {})),
                _content(told["responses"].get("200", {})),
            )


def shapes() -> Iterator[Shape]:
    for name, told in document()["components"]["schemas"].items():
        if "properties" in told:
            required = set(told.get("required", ()))
            fields = tuple(
                (key, kind(schema) + ("" if key in required else ", optional"), schema.get("description", ""))
                for key, schema in told.get("properties", {}).items()
            )
            yield Shape(name, " ".join(told.get("description", "").split()), fields)


def _content(body: Mapping[str, Any]) -> str:
    kinds = body.get("content", {})
    if "application/json" in kinds and (schema := kinds["application/json"].get("schema")):
        return kind(schema)
    return ", ".join(kinds)


def kind(schema: Mapping[str, Any]) -> str:
    """A JSON schema in a reader's words; the names of shapes stand for themselves."""
    if "$ref" in schema:
        name = str(schema["$ref"].rpartition("/")[2])
        meant = document()["components"]["schemas"][name]
        return name if "properties" in meant else kind(meant)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(each) for each in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in _values(schema))
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))


def _values(schema: Mapping[str, Any]) -> list[Any]:
    return list(schema.get("enum", [schema.get("const")]))
