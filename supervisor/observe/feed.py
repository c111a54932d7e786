"""An Atom feed (RFC 4287) of what a person should know: finished batches, alerts, agents that wait. Pure.

An entry keeps its id for good, so no reader shows it twice. Ids are made of the installation's own, which is random:
from a batch's name nobody can tell its entry. All text is text: it is escaped, and nothing of it is markup.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree

from supervisor.model.alert import Alert
from supervisor.observe.digest_text import brought
from supervisor.observe.report_text import duration, line, number
from supervisor.observe.snapshot import rfc3339

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"

type Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    #: its subject; never changes
    key: str
    title: str
    text: str
    #: RFC 3339
    at: str
    #: the page about it, from the dashboard's root
    page: str


def of_batches(finished: Iterable[Row]) -> Iterator[Entry]:
    for each in finished:
        branch = f"Branch {each['branch']}. " if each["branch"] else ""
        took = f"{duration(each['seconds'])}, {number(sum(each['tokens'].values()))} tokens."
        title = f"Batch {each['id']} {each['state']}: {brought(each)}"
        yield Entry(
            f"batch {each['id']}", title, branch + took, each["finished_at"], f"/batches/{each['id']}/morning"
        )


def of_alerts(alerts: Iterable[Alert]) -> Iterator[Entry]:
    """One entry for each time that an alert is raised; its end changes the entry."""
    for alert in alerts:
        over = alert.resolved_at is not None
        title = f"Over: {alert.message}" if over else alert.message
        text = f"{title} ({alert.why})" if alert.why else title
        at = rfc3339(alert.resolved_at if over else alert.since) or ""
        yield Entry(f"alert {alert.id} {alert.since}", title, text, at, "/")


def of_parked(rows: Iterable[Row]) -> Iterator[Entry]:
    for row in rows:
        title = f"An agent waits for you: job {row['id']}"
        text = f"{row['test']}: {row['detail'] or 'waits for a person'}"
        key = f"parked {row['id']} {row['attempts']}"
        yield Entry(key, title, text, row["since"], f"/jobs/{row['id']}")


def feed(entries: Iterable[Entry], installation: str, now: float, *, origin: str = "") -> bytes:
    """`origin`: where the dashboard is; without one, entries have no links."""
    newest = sorted(entries, key=lambda entry: entry.at, reverse=True)
    root = ElementTree.Element("feed", xmlns=ATOM)
    _add(root, "id", _urn(installation, "feed"))
    _add(root, "title", "agent-supervisor")
    _add(root, "updated", newest[0].at if newest else rfc3339(now) or "")
    _add(ElementTree.SubElement(root, "author"), "name", "agent-supervisor")
    if origin:
        ElementTree.SubElement(root, "link", rel="self", href=f"{origin}/feed.atom", type=MEDIA_TYPE)
        ElementTree.SubElement(root, "link", rel="alternate", href=f"{origin}/", type="text/html")
    for entry in newest:
        _entry(ElementTree.SubElement(root, "entry"), entry, installation, origin)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _entry(parent: ElementTree.Element, entry: Entry, installation: str, origin: str) -> None:
    _add(parent, "id", _urn(installation, entry.key))
    _add(parent, "title", line(entry.title, 200), type="text")
    _add(parent, "updated", entry.at)
    _add(parent, "content", line(entry.text, 2000), type="text")
    if origin:
        ElementTree.SubElement(parent, "link", rel="alternate", href=f"{origin}{entry.page}", type="text/html")


def _add(parent: ElementTree.Element, name: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(parent, name, attributes).text = text


def _urn(installation: str, key: str) -> str:
    return uuid5(NAMESPACE_URL, f"{installation} {key}").urn
