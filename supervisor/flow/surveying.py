"""The survey of a batch's base: which files are run next, and what follows from a broken base.

Theory of operation. The files of the batch are run at its base in groups, in the order of the jobs, beside the
agents. A group takes a verify slot, of this machine or of the remote pool in which the claims will be verified;
waiting claims get the next slot. The first group is one file, so that something is known early; the size of the
others depends on how many files and slots there are, and on how long a file takes.

A base where everything fails for one reason stops its batch before more agents are paid for: the setup fails, or all
tests fail with the same message. When a person resumes the batch, the survey starts again and does not stop the batch
a second time: either the cause is fixed, or the person knows better.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from supervisor.errors import ImpossibleTransition
from supervisor.flow.verifying import busy_of, home_of, slots_of
from supervisor.model import event as ev
from supervisor.model.batch import Batch, BatchState
from supervisor.model.node import file_of
from supervisor.model.profile import Profile
from supervisor.model.state import State
from supervisor.model.survey import Survey, Surveyed

#: the reason of a batch that is stopped for a broken base
STOPPED = "survey"
#: the most files of a group, and the time that its files should take at most
MOST_FILES, GROUP_SECONDS = 8, 60.0
#: groups for each slot: many small groups use the slots evenly
GROUPS_PER_SLOT = 4
#: So many tests must fail for one reason before the base is taken for broken. A failed assertion says what one test
#: expects, so several with the same message prove less.
LEAST, LEAST_ASSERTIONS = 3, 10
_ASSERTIONS = ("assert ", "AssertionError")


def wanted(tests: tuple[str, ...], profile: Profile, role: str) -> Survey:
    """The survey of a batch that is submitted."""
    if profile.survey != "full" or not profile.verify_runs or role != "tester":
        return Survey()
    return Survey(tuple(dict.fromkeys(file_of(test) for test in tests)))


# --- the choice


def next_group(state: State, now: float) -> ev.SurveyStarted | None:
    """The files to run now, in one slot; None if no slot is free or no file is due."""
    due = [batch for batch in state.batches.values() if batch.survey.is_due and _is_useful(batch)]
    homes = {batch.id: home_of(state.pools, batch.profile) for batch in due}
    is_free = {home: busy_of(state, home) < slots_of(state, home) for home in set(homes.values())}
    if not (due := [batch for batch in due if is_free[homes[batch.id]]]):
        return None
    batch = min(due, key=lambda each: (-each.priority, len(each.survey.under_way), each.number))
    files = batch.survey.next_files(_size(batch.survey, slots_of(state, homes[batch.id])))
    return ev.SurveyStarted(now, batch.id, batch.survey.groups + 1, files)


def unwanted(state: State) -> Iterator[tuple[str, int]]:
    """Groups under way that are no longer needed."""
    for batch in state.batches.values():
        if batch.survey.under_way and not _is_useful(batch):
            yield from ((batch.id, number) for number in batch.survey.under_way)


def _is_useful(batch: Batch) -> bool:
    is_open = batch.state in (BatchState.QUEUED, BatchState.RUNNING) and not batch.is_drained
    return is_open and not batch.is_spent and batch.stop.reason != STOPPED


def _size(survey: Survey, slots: int) -> int:
    if not survey.over:
        return 1
    share = math.ceil(len(survey.files) / (GROUPS_PER_SLOT * slots))
    usual = survey.found.seconds / survey.over
    return max(1, min(MOST_FILES, share, int(GROUP_SECONDS / usual) if usual else MOST_FILES))


# --- what follows from a broken base


def is_broken(batch: Batch) -> bool:
    """Whether everything fails for one reason, and a person should know before more agents are paid for."""
    return batch.survey.round == 0 and bool(_reason(batch.survey)) and not _is_left_to_one(batch)


def _is_left_to_one(batch: Batch) -> bool:
    """Whether all failures are in shared code, where siblings are held and only one agent is paid for."""
    found = batch.survey.found
    return batch.profile.hold_siblings and 0 < found.shared == found.bad


def why(batch: Batch) -> str:
    """The reason in one sentence, with a sample."""
    found = batch.survey.found
    return f"{_reason(batch.survey)}: {found.sample or found.problem}"


def _reason(survey: Survey) -> str:
    found = survey.found
    if found.problem:
        return "nothing can be run at the base" if not found.green + found.red + found.flaky + found.skipped else ""
    least = LEAST_ASSERTIONS if found.cause.startswith(_ASSERTIONS) else LEAST
    is_widespread = survey.over > 1 or survey.over == len(survey.files)
    if found.cause and found.bad == found.tests >= least and is_widespread:
        return f"all {found.bad} tests that were run at the base fail for one reason"
    return ""


# --- what happens


def on_started(state: State, event: ev.SurveyStarted) -> State:
    batch = _batch(state, event)
    return _with(state, batch, batch.survey.begun(event.number, event.files))


def on_ended(state: State, event: ev.SurveyEnded) -> State:
    batch = _under_way(state, event.batch, event.number)
    state = _with(state, batch, batch.survey.ended(event.number, event.found))
    return stopped_if_broken(state, state.batches[batch.id], event.at)


def stopped_if_broken(state: State, batch: Batch, at: float) -> State:
    """Make the stop due, if a job waits. A batch that is stopped for another reason is checked when it resumes."""
    is_due = is_broken(batch) and _is_useful(batch) and not batch.stop.reason and batch.next_queued is not None
    return state.put(("stop", batch.id), at) if is_due else state


def on_abandoned(state: State, event: ev.SurveyAbandoned) -> State:
    batch = _under_way(state, event.batch, event.number)
    return _with(state, batch, batch.survey.abandoned(event.number))


def all_due_again(state: State) -> State:
    """The daemon has started: what was under way is due again."""
    for batch in state.batches.values():
        if batch.survey.under_way:
            state = _with(state, batch, batch.survey.interrupted())
    return state


def lost(files: tuple[str, ...]) -> Surveyed:
    """The result of files whose run failed through no fault of theirs: a claim runs them again."""
    return Surveyed(unrun=len(files))


def _batch(state: State, event: ev.BatchEvent) -> Batch:
    if (batch := state.batches.get(event.batch)) is None:
        raise ImpossibleTransition(f"{event.kind} of {event.batch}, which is not open")
    return batch


def _under_way(state: State, batch_id: str, number: int) -> Batch:
    batch = state.batches.get(batch_id)
    if batch is None or number not in batch.survey.under_way:
        raise ImpossibleTransition(f"group {number} of the survey of {batch_id} is not under way")
    return batch


def _with(state: State, batch: Batch, survey: Survey) -> State:
    return state.with_batch(replace(batch, survey=survey))


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {
    ev.SurveyStarted: on_started,
    ev.SurveyEnded: on_ended,
    ev.SurveyAbandoned: on_abandoned,
}
