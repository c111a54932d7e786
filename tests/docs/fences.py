"""The blocks of the documentation, by what stands behind the three backticks.

```sh run                       is run, in the order of its page, and must exit 0
```sh (not run: why)            is not
```toml                         is a configuration of ours; ```toml (whose) is somebody else's
"""

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt

from tests.shape.sources import kept, read

PAGES = tuple(path for path in kept() if re.fullmatch(r"(README|CONTRIBUTING|SECURITY|docs/[\w-]+)\.md", path))


@dataclass(frozen=True, slots=True)
class Fence:
    page: str
    line: int
    language: str
    said: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        return self.language == "sh" and self.said == "run"


def fences(*languages: str) -> list[Fence]:
    return [each for page in PAGES for each in on(page) if each.language in languages]


def on(page: str) -> list[Fence]:
    tokens = MarkdownIt().parse(read(page))
    found = [(token, *token.info.partition(" ")) for token in tokens if token.type == "fence" and token.map]
    return [
        Fence(page, (token.map or [0])[0] + 1, language, said, token.content) for token, language, _, said in found
    ]
