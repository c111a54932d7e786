"""Divides the claims of a group so that no test notices the work of another claim, in one checkout.

Theory of operation. The checkout is prepared with the work of all claims. Claims whose tests notice nobody else's
work there are heard in it as it is: the first view. Of the others, so many as do not meet each other, by all that is
known, get a view of their own: the same tree without the files of other claims that their tests notice. It is laid
into the checkout when a test of that view runs, and is watched before: tests may reach other lines there. This is
repeated until each claim has its view.

Where a setup has run in the checkout, no other view can be laid: what it has made may depend on any file. The claims
that are left are then put back, and meet nobody in their next group.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import anyio

from supervisor.model.batch import Batch
from supervisor.model.node import file_of
from supervisor.ports import PutBack
from supervisor.threads import in_thread
from supervisor.verification.together.composing import Composed, NoTree, compose
from supervisor.verification.together.sharing import Unsound
from supervisor.verification.together.tree import Claimed, Tree
from supervisor.verification.together.watching import Watched, Watching
from supervisor.verification.trials.asking import Checkout, Unready
from supervisor.verification.trials.runs import View

MEETS = "its test and the work of others meet"
CONFLICTS = "its work conflicts with that of others"
UNREAD = "its file can't be collected"


@dataclass(frozen=True, slots=True)
class Group:
    """Claims that are heard in one view."""

    claims: tuple[Claimed, ...]
    tree: Tree
    view: View
    watched: Watched


class Dividing:
    def __init__(
        self, batch: Batch, bare: Path, trial: Checkout, watching: Watching, claims: Sequence[Claimed]
    ) -> None:
        self._batch, self._bare, self._trial, self._watching = batch, bare, trial, watching
        self._claims = claims
        self.groups: list[Group] = []
        self.put_back: dict[int, PutBack] = {}
        self._left = list(claims)
        #: pairs of claims that can't be heard in one view
        self._apart: set[frozenset[int]] = set()
        #: by claim, the others whose work it notices, and in which files
        self._noticed: defaultdict[int, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))

    async def divide(self, prepared: Composed) -> None:
        """Raises Unsound, NoTree."""
        await self._view(prepared, self._claims)
        while self._left and self._trial.can_lay:
            before, known = len(self._left), self._known
            chosen = self._colored()
            async with anyio.create_task_group() as views:
                for claims in chosen:
                    views.start_soon(self._next_view, claims)
            # In a tree without what it noticed, a test may reach something else; then more is known than before.
            alone = [claims[0] for claims in chosen if len(claims) == 1 and claims[0] in self._left]
            self._are_over(alone, PutBack(MEETS))
            if len(self._left) == before and self._known == known:
                self._are_over(self._left, PutBack(MEETS))
        for each in [*self._left]:
            self._are_over([each], self._for_later(each))

    async def _next_view(self, claims: Sequence[Claimed]) -> None:
        try:
            await self._view(await in_thread(self._composed, claims), claims)
        except (Unsound, Unready, NoTree) as unsettled:
            self._are_over(claims, PutBack(str(unsettled), max(1, len(claims) // 2)))

    @property
    def _known(self) -> int:
        return sum(len(paths) for others in self._noticed.values() for paths in others.values()) + len(self._apart)

    def _for_later(self, claim: Claimed) -> PutBack:
        meets = frozenset(number for pair in self._apart if claim.number in pair for number in pair - {claim.number})
        return PutBack(MEETS, self._batch.profile.verify_group, meets) if meets else PutBack(CONFLICTS)

    def _are_over(self, claims: Sequence[Claimed], why: PutBack | None = None) -> None:
        over = {each.number for each in claims}
        self._left = [each for each in self._left if each.number not in over]
        if why is not None:
            self.put_back |= dict.fromkeys(over, why)

    def _colored(self) -> list[list[Claimed]]:
        """All that are left, in as few views as it takes that none of them meet, by all that is known."""
        meets = {each.number: sum(each.number in pair for pair in self._apart) for each in self._left}
        views: list[list[Claimed]] = []
        for each in sorted(self._left, key=lambda claim: (-meets[claim.number], claim.number)):
            pairs = ((view, [frozenset((each.number, other.number)) for other in view]) for view in views)
            fitting = next((view for view, found in pairs if self._apart.isdisjoint(found)), None)
            if fitting is None:
                views.append([each])
            else:
                fitting.append(each)
        return views

    def _composed(self, chosen: Sequence[Claimed]) -> Composed:
        """The tree of all claims, without what the chosen ones notice. Blocking."""
        own, files = {each.number for each in chosen}, {file_of(each.test) for each in chosen}
        without: dict[int, frozenset[str]] = {}
        for other in self._claims:
            noticed = frozenset[str]().union(*(self._noticed[number][other.number] for number in own))
            if noticed and other.number not in own:
                # A test that lacks some of its work would fail beside the others of its file.
                without[other.number] = other.paths if file_of(other.test) in files else noticed
        first = [*chosen, *(each for each in self._claims if each.number not in own)]
        heads = {each.number: each.job.brought.head for each in first}
        return compose(self._bare, self._batch.base, heads, without)

    async def _view(self, composed: Composed, claims: Sequence[Claimed]) -> None:
        """Those who can be heard in this tree become a group."""
        view = await self._trial.view(composed.sha)
        watched = await self._watching.watch(claims, view)
        tree = await in_thread(self._tree, composed, claims, watched)
        if any(tree.noticed.values()):
            told = await self._watching.told(watched, view)
            if told is not watched:
                watched, tree = told, await in_thread(self._tree, composed, claims, told)
        unread = [each for each in claims if file_of(each.test) in watched.unread_files]
        self._are_over(unread, PutBack(UNREAD))
        missing = tree.missing()
        self._note(tree.noticed, missing, claims)
        gone = missing.keys() | {number for number, noticed in tree.noticed.items() if noticed}
        if heard := tuple(each for each in claims if each not in unread and each.number not in gone):
            self.groups.append(Group(heard, tree, view, watched))
            self._are_over(heard)

    def _note(
        self,
        noticed: Mapping[int, Mapping[int, Iterable[str]]],
        missing: Mapping[int, frozenset[str]],
        claims: Sequence[Claimed],
    ) -> None:
        for number, others in noticed.items():
            for their_number, paths in others.items():
                self._apart.add(frozenset((number, their_number)))
                self._noticed[number][their_number].update(paths)
        for one, other in combinations(claims, 2):
            lacks = missing.get(one.number, frozenset()) | missing.get(other.number, frozenset())
            if lacks & one.paths & other.paths:
                self._apart.add(frozenset((one.number, other.number)))

    def _tree(self, composed: Composed, claims: Sequence[Claimed], watched: Watched) -> Tree:
        base, notes = self._batch.base, watched.notes
        return Tree(self._bare, base, composed, self._claims, watched=claims, notes=notes)
