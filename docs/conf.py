"""How the site is built: `make docs`. Everything it shows is in the folder that comes out of it."""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from manual import pages, states  # noqa: E402 (the path is what makes it importable)
from supervisor import __version__  # noqa: E402

project = "agent-supervisor"
release = __version__
copyright = "the authors of agent-supervisor, MIT License"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"agent-supervisor {release}"
html_static_path = ["static"]
html_css_files = ["states.css"]
html_copy_source = False
html_show_sphinx = False
exclude_patterns = ["site"]
myst_heading_anchors = 4
#: the first word of a fence is its language; what follows says whether it is run
nitpicky = True
smartquotes = False  # an option begins with two hyphens

MERMAID = re.compile(r"```mermaid\n(.*?)```\n", re.S)
#: a script, a picture, a style or a font of another place; a link that a person follows is none of these
FETCHED = re.compile(
    r"<(?:script|img|link|iframe|source)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//[^>]*>|@import[^;]*//"
)
#: pages of the repository's root that the site shows, too
ROOT_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def write_pages(app: Sphinx) -> None:
    """The reference, and what stands at the root of the repository."""
    made = {HERE / "reference" / name: text for name, text in pages.all_pages().items()}
    made |= {HERE / "project" / name.lower(): _from_root(name) for name in ROOT_PAGES}
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _from_root(name: str) -> str:
    """Links of the root lead into docs/, or to another page of the root, or to a file of the repository."""
    text = (HERE.parent / name).read_text()
    text = re.sub(r"\]\(docs/", "](../", text)
    return re.sub(rf"\]\(({'|'.join(map(re.escape, ROOT_PAGES))})", lambda found: f"]({found[1].lower()}", text)


def draw(app: Sphinx, name: str, source: list[str]) -> None:
    """Where a page has a mermaid diagram, the site has the picture: no script is needed to see it."""
    drawn = lambda found: f"```{{raw}} html\n{states.svg(found[1], f'diagram in {name}')}\n```\n"  # noqa: E731
    source[0] = MERMAID.sub(drawn, source[0])


def refuse_what_is_fetched(app: Sphinx, failed: Exception | None) -> None:
    """Everything that a page loads is in the folder with it."""
    for page in [] if failed else Path(app.outdir).rglob("*.html"):
        for found in FETCHED.finditer(page.read_text()):
            raise ExtensionError(f"{page.name} would fetch {found[0]}")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", refuse_what_is_fetched)
    app.connect("builder-inited", write_pages)
    app.connect("source-read", draw)
