"""Matches citations with blocks: equal after normalisation, or stale, with the nearest block."""

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal as Choice

from supervisor.e2e.tutorial.blocks import Block, normalise
from supervisor.e2e.tutorial.chunks import split_chunks
from supervisor.e2e.tutorial.citations import Citation

EDITED_FROM = 0.75  # minimal similarity; below it the block counts as removed
CANDIDATES = 5
LONGEST = 20_000  # characters; longer texts are compared by words only

type Staleness = Choice["edited", "gone"]


@dataclass(frozen=True, slots=True)
class Nearest:
    """What a stale citation probably refers to."""

    block: Block | None
    ratio: float

    @property
    def staleness(self) -> Staleness:
        return "edited" if self.block and self.ratio >= EDITED_FROM else "gone"


class Matcher:
    """Looks citations up in the blocks of one tutorial."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks = tuple(blocks)
        self._by_key: dict[str, list[Block]] = defaultdict(list)
        self._by_name: dict[str, list[Block]] = defaultdict(list)
        for block in self._blocks:
            self._by_key[block.key].append(block)
            self._by_name[block.id].append(block)
            self._by_name[block.slug].append(block)
        self._nearest: dict[str, Nearest] = {}
        self._postings: dict[str, list[int]] = {}

    def blocks_of(self, citation: Citation) -> tuple[Block, ...]:
        """The blocks it cites; none if it is stale. It may quote several complete blocks."""
        return self.found(citation.form, citation.readings)

    def found(self, form: str, readings: Sequence[str]) -> tuple[Block, ...]:
        if form == "id":
            named = self._by_name.get(readings[0], [])
            return tuple(named) if len(named) == 1 else ()
        for reading in readings:
            if blocks := self._by_key.get(normalise(reading)):
                return tuple(blocks)
        for reading in readings:
            if quoted := self._quoted(reading):
                return tuple(quoted)
        return ()

    def _quoted(self, reading: str) -> list[Block]:
        chunks = split_chunks(reading)[0] if "\n\n" in reading else []
        quoted = [self._by_key.get(normalise(chunk.text), []) for chunk in chunks]
        return [block for blocks in quoted for block in blocks] if all(quoted) else []

    def nearest(self, citation: Citation) -> Nearest:
        """What a citation that matches no block probably refers to."""
        text = citation.readings[0]
        if citation.form == "id":
            return self._nearest_name(text)
        key = normalise(text)
        if key not in self._nearest:
            self._nearest[key] = self._nearest_text(key)
        return self._nearest[key]

    def _nearest_name(self, name: str) -> Nearest:
        """By slug first, since an edit changes the hash; then by spelling."""
        same_slug = self._by_name.get(name.rpartition("-")[0], [])
        if len(same_slug) == 1:
            return Nearest(same_slug[0], max(EDITED_FROM, _ratio(name, same_slug[0].id)))
        close = difflib.get_close_matches(name, [block.id for block in self._blocks], n=1, cutoff=0.1)
        if not close:
            return Nearest(None, 0.0)
        return Nearest(self._by_name[close[0]][0], _ratio(name, close[0]))

    def _nearest_text(self, key: str) -> Nearest:
        words = key.split()
        matcher = difflib.SequenceMatcher(None, autojunk=False)
        matcher.set_seq2(words)
        best, best_ratio = None, 0.0
        for block in self._similar(words):
            matcher.set_seq1(block.key.split())
            if (ratio := matcher.ratio()) > best_ratio:
                best, best_ratio = block, ratio
        if best and len(key) + len(best.key) < LONGEST:
            best_ratio = _ratio(best.key, key)
        return Nearest(best, best_ratio)

    def _similar(self, words: list[str]) -> list[Block]:
        """The few blocks that share the most rare words: difflib looks at these only."""
        postings = self._index()
        scores: Counter[int] = Counter()
        for word in set(words):
            found = postings.get(word, [])
            for number in found if len(found) <= max(20, len(self._blocks) // 10) else ():
                scores[number] += 1_000_000 // len(found)
        if not scores:
            scores.update(number for word in set(words) for number in postings.get(word, []))
        return [self._blocks[number] for number, _ in scores.most_common(CANDIDATES)]

    def _index(self) -> dict[str, list[int]]:
        if not self._postings:
            for number, block in enumerate(self._blocks):
                for word in set(block.key.split()):
                    self._postings.setdefault(word, []).append(number)
        return self._postings


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()
