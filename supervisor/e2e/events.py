"""The transcript as JSON lines for programs, with the time of each piece of output."""

import json
import os
from pathlib import Path


class EventFile:
    """`transcript.jsonl`: events `start`, `output`, `note`, `end`, each with the number of its command."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, event: str, number: int, /, **data: object) -> None:
        """Append one event in one system call, so that neither threads nor a kill leave a partial line."""
        line = json.dumps({"event": event, "command": number} | data, default=str) + "\n"
        if self._fd >= 0:
            os.write(self._fd, line.encode())

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
