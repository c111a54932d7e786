"""The rules of promtool's linter, for machines without it; a test runs the real one where it is installed."""

import re
from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

#: what is not a base unit, with what is
_UNITS = {
    **dict.fromkeys(("milliseconds", "ms", "microseconds", "minutes", "hours", "days"), "seconds"),
    **dict.fromkeys(("kilobytes", "megabytes", "gigabytes", "kb", "mb", "gb", "bits"), "bytes"),
    **dict.fromkeys(("percent", "percents", "pct"), "ratio"),
}
_ABBREVIATED = re.compile(r"_(s|sec|secs|b|us|ns|h|m|min|hr|temp)(_|$)")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def families(text: str) -> list[Metric]:
    return list(text_string_to_metric_families(text))


def problems(text: str) -> Iterator[str]:
    described = re.findall(r"^# (HELP|TYPE) (\S+)", text, re.M)
    for what in ("HELP", "TYPE"):
        names = [name for kind, name in described if kind == what]
        yield from (f"{name}: {what} is there twice" for name in {n for n in names if names.count(n) > 1})
    for family in families(text):
        yield from (f"{family.name}: {each}" for each in _of_family(family, text))


def _of_family(family: Metric, text: str) -> Iterator[str]:
    exposed = f"{family.name}_total" if family.type == "counter" else family.name
    if not family.documentation:
        yield "no help text"
    if f"# TYPE {exposed} " not in text:
        yield "no type"
    if not _NAME.fullmatch(family.name):
        yield "not in lower case with underscores"
    if family.name.startswith(("go_", "python_")):
        yield "a reserved prefix"
    words = family.name.split("_")
    yield from (f"{word} is not a base unit: use {_UNITS[word]}" for word in words if word in _UNITS)
    if _ABBREVIATED.search(family.name):
        yield "an abbreviated unit"
    if family.type in words:
        yield "its type is in its name"
    if family.type != "counter" and exposed.endswith("_total"):
        yield "only counters end in _total"
    if family.type not in ("histogram", "summary") and exposed.endswith(("_count", "_sum", "_bucket")):
        yield "reserved for histograms"
    yield from _of_samples(family)


def _of_samples(family: Metric) -> Iterator[str]:
    seen = set[tuple[str, tuple[tuple[str, str], ...]]]()
    for sample in family.samples:
        key = (sample.name, tuple(sorted(sample.labels.items())))
        if key in seen:
            yield f"{key} is there twice"
        seen.add(key)
        if family.type == "counter" and sample.value < 0:
            yield f"{key} is negative"
        for label in sample.labels:
            if not _NAME.fullmatch(label) or (label in ("le", "quantile") and family.type != "histogram"):
                yield f"the label {label}"
