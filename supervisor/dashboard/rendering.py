"""Templates become pages. Every value is escaped, and agents' Markdown is made safe as in the report."""

from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from supervisor.dashboard.assets import address
from supervisor.dashboard.entering import Session
from supervisor.dashboard.saying import SAID
from supervisor.observe.report_evidence import told
from supervisor.observe.report_html import coded, link, markdown
from supervisor.observe.report_text import duration, verified
from supervisor.observe.snapshot import rfc3339

#: marks that turn text around or hide: they are shown by their number
_TURNING = {
    c: f"[U+{c:04X}]" for c in (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF)
}


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    session: Session | None = getattr(request.state, "session", None)
    said = SAID.get(request.query_params.get("said", ""), "")
    about = {"nonce": request.state.nonce, "session": session, "path": request.url.path, "said": said}
    return HTMLResponse(rendered(template, **about, **values), status)


def rendered(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


def plain(text: object) -> str:
    """Somebody else's text on one line, without what would reorder or hide it."""
    shown = str(text).translate(_TURNING)
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)


def short(count: float | None) -> str:
    """`1.5`, `950`, `12.3k`, `4.5M`."""
    if count is None:
        return "–"
    for least, scale, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if count >= least:
            return f"{count / scale:.3g}{unit}"
    return f"{count:.2g}" if 0 < count < 10 and count % 1 else f"{count:,.0f}"


@cache
def _environment() -> Environment:
    folder = files("supervisor.dashboard") / "templates"
    loader = FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8"))
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=loader,
        auto_reload=False,
    )
    environment.filters |= {
        "markdown": markdown,
        "duration": duration,
        "number": "{:,}".format,
        "short": short,
        "told": told,
        "verified": verified,
        "link": link,
        "coded": lambda text: coded(plain(text)),
        "plain": plain,
        "lines": lambda text: "\n".join(plain(line) for line in str(text).splitlines()),
        "moment": rfc3339,
        "clock": clock,
    }
    environment.globals |= {"asset": address}
    return environment


def clock(at: str | None) -> Markup | str:
    """A time of RFC 3339, which the browser shows in its own zone."""
    if not at:
        return "–"
    return Markup('<time datetime="{}">{} UTC</time>').format(at, at[:16].replace("T", " "))
