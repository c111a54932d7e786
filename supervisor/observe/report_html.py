"""The report as one self-contained page, safe against what agents wrote.

Three defences, each sufficient alone: the template escapes all values; agents' Markdown is rendered without HTML and
then sanitized to plain formatting; the page's content security policy allows its one style sheet by hash, and no
scripts, no images and no requests.
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
from supervisor.observe.survey import in_words

REL = "noopener noreferrer nofollow"
TAGS = {
    *("p", "br", "hr", "em", "strong", "code", "pre", "blockquote", "ul", "ol", "li", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
#: reading order: changes, jobs that need a person, jobs in progress, the rest
ORDER = (
    *(Standing.FIXED, Standing.IMPROVED, Standing.BLOCKED, Standing.FAILED, Standing.FLAKY, Standing.PARKED),
    *(Standing.WORKING, Standing.WAITING, Standing.CLEAN, Standing.NEVER_STARTED, Standing.CANCELLED),
)
#: standings whose jobs are listed without details
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
    """Render an agent's Markdown. Anything but plain formatting becomes text or is removed."""
    rendered = _markdown().render(text)
    return Markup(
        nh3.clean(rendered, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"}, link_rel=REL)
    )


def coded(sentence: str) -> Markup:
    """Mark up text between backquotes as code."""
    parts = (escape(part) for part in sentence.split("`"))
    return Markup().join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def link(url: str) -> Markup:
    """A link if the URL is a web page's, otherwise its text."""
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
        "in_words": in_words,
        "link": link,
        "coded": coded,
    }
    return style, environment.from_string(page)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
