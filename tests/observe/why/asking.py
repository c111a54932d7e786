"""Asking about everything in a state, and what each answer must be."""

import re

from supervisor.model.state import State
from supervisor.observe.why import Answer, explain, why

#: what a sentence may not have: nothing where something was to be said, a Python value, a blank or a stop too many
BROKEN = re.compile(r"None|<|  |\.\.|\. \.|,\.|:\.|\(\)| \.|<[a-z]")


def subjects(state: State) -> list[str]:
    jobs = [batch.job_id(number) for batch in state.batches.values() for number in range(len(batch.tests) + 1)]
    known = [job for job in jobs if state.batches[job.split(".")[0]].has_job(int(job.split(".")[1]))]
    return [*known, *state.batches, *state.pools]


def check(state: State, now: float) -> None:
    for subject in subjects(state):
        answer = explain(state, subject, now)
        assert answer.reasons, f"nothing is said of {subject}: {answer.where}"
        assert why(state, subject, now) == answer.text
        check_words(answer)


def check_words(answer: Answer) -> None:
    for sentence in (answer.where, *(reason.text for reason in answer.reasons)):
        assert sentence[:1].strip(), f"empty: {answer}"
        assert sentence.endswith((".", "?", "!", "…")), sentence
    assert not (found := BROKEN.search(answer.text)), f"{found} in {answer.text!r}"
    assert answer.text.isprintable()
    assert answer.subject in answer.text
