"""The report as one page that needs nothing else, and that nothing written by an agent can make do anything.

Three locks, each enough: all values are escaped by the template; agents' Markdown is rendered without HTML and then
cleaned down to plain formatting; the policy in the page's head allows its one style sheet by its hash, no script, no
picture and no request to anywhere.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files

import nh3
from jinja2 import Environment, StrictUndefined, Template
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from supervisor.observe.report import Report, Standing
from supervisor.observe.report_evidence import told
from supervisor.observe.report_text import duration, number, verified

REL = "noopener noreferrer nofollow"
TAGS = {
    *("p", "br", "hr", "em", "strong", "code", "pre", "blockquote", "ul", "ol", "li", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
#: as they are read: what changed, what wants a person, what is under way, what is of no interest
ORDER = (
    *(Standing.FIXED, Standing.IMPROVED, Standing.BLOCKED, Standing.FAILED, Standing.FLAKY, Standing.PARKED),
    *(Standing.WORKING, Standing.WAITING, Standing.CLEAN, Standing.NEVER_STARTED, Standing.CANCELLED),
)
#: how much of these there is does not matter one by one
LISTED = (Standing.WAITING, Standing.NEVER_STARTED)


def html(report: Report) -> str:
    style, template = _assets()
    return template.render(
        report=report,
        sections=[(each, report.having(each)) for each in ORDER if report.counts.get(each)],
        listed=LISTED,
        style=Markup(style),
        policy=f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'",
    )


def markdown(text: str) -> Markup:
    """Agents' words, formatted; whatever is not plain formatting stays text or goes."""
    rendered = _markdown().render(text)
    return Markup(
        nh3.clean(rendered, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"}, link_rel=REL)
    )


def coded(sentence: str) -> Markup:
    """What stands between backquotes as code."""
    parts = (escape(part) for part in sentence.split("`"))
    return Markup().join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def link(url: str) -> Markup:
    """A link, if it leads to a web page; else its text."""
    if not url.startswith(("https://", "http://")):
        return escape(url)
    return Markup('<a href="{0}" rel="{1}">{0}</a>').format(url, REL)


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@cache
def _assets() -> tuple[str, Template]:
    folder = files("supervisor.observe") / "templates"
    style, page = ((folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.html"))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "markdown": markdown,
        "duration": duration,
        "number": number,
        "verified": verified,
        "told": told,
        "link": link,
        "coded": coded,
    }
    return style, environment.from_string(page)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
