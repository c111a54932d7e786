"""What followers get of events."""

import json

from supervisor.observe.stream import as_data
from supervisor.ports import Record
from tests.adapters.story import everything


def test_every_kind_of_event_is_told_as_json() -> None:
    for seq, event in enumerate(everything("here"), 1):
        told = json.loads(json.dumps(as_data(Record(seq, event)), allow_nan=False))
        assert (told["seq"], told["kind"]) == (seq, event.kind)
