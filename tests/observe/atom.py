"""What RFC 4287 requires of a feed, checked strictly."""

import re
from urllib.parse import urlsplit
from xml.etree import ElementTree

ATOM = "{http://www.w3.org/2005/Atom}"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
TEXTS = {"title", "content", "summary"}


def checked(data: bytes) -> ElementTree.Element:
    """The feed. Fails where it is not well-formed or not Atom."""
    feed = ElementTree.fromstring(data)
    assert feed.tag == f"{ATOM}feed"
    _has_once(feed, "id", "title", "updated")
    assert feed.find(f"{ATOM}author/{ATOM}name") is not None
    entries = feed.findall(f"{ATOM}entry")
    for entry in entries:
        _has_once(entry, "id", "title", "updated", "content")
        assert {child.tag for child in entry} <= {
            f"{ATOM}{name}" for name in ("id", "title", "updated", "content", "link")
        }
    for element in feed.iter():
        _check(element)
    ids = [str(entry.findtext(f"{ATOM}id")) for entry in entries]
    assert len(set(ids)) == len(ids)
    return feed


def _has_once(parent: ElementTree.Element, *names: str) -> None:
    for name in names:
        assert len(parent.findall(f"{ATOM}{name}")) == 1, (parent.tag, name)


def _check(element: ElementTree.Element) -> None:
    name = element.tag.removeprefix(ATOM)
    assert element.tag.startswith(ATOM), element.tag
    if name == "updated":
        assert TIME.fullmatch(element.text or ""), element.text
    if name == "id":
        assert urlsplit(element.text or "").scheme, element.text
    if name in TEXTS:
        assert element.get("type", "text") == "text"
        assert len(element) == 0
    if name == "link":
        assert urlsplit(element.get("href", "")).scheme in ("http", "https")
