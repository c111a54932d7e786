"""What is said after somebody steered. An address carries its word only, so no link can put text on a page."""

from collections.abc import Mapping

NOTHING = "nothing"
SAID: Mapping[str, str] = {
    "queue-pause": "The queue is paused: agents at work may finish.",
    "queue-resume": "The queue goes on.",
    "batch-pause": "The batch is paused: agents at work may finish.",
    "batch-resume": "The batch goes on.",
    "batch-cancel": "The batch is cancelled. What its agents have is rescued.",
    "batch-retry": "What did not end well goes again.",
    "batch-integrate": "A branch of what is done is being made.",
    "job-cancel": "The job is cancelled. What its agent has is rescued.",
    "job-retry": "The job goes again.",
    "review-accept": "The commit is accepted.",
    "review-drop": "The commit is dropped: it is reverted on the branch.",
    "review-undo": "What was said of the commit is taken back.",
    "slots": "The pool has as many slots now. Agents beyond them may finish.",
    NOTHING: "It was so already: nothing changed.",
}
