"""The results of an integration's steps: a step whose result is stored is not repeated."""

import os
from pathlib import Path

import msgspec

from supervisor.threads import in_thread


class Steps:
    """A folder of its own, with a JSON file for each step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def source(self) -> Path:
        """The checkout that an integrator's agent starts from."""
        return self.folder / "source"

    @property
    def task(self) -> Path:
        return self.folder / "integration.json"

    async def read[T](self, step: str, kind: type[T]) -> T | None:
        path = self.folder / f"{step}.json"
        if not await in_thread(path.is_file):
            return None
        return msgspec.json.decode(await in_thread(path.read_bytes), type=kind)

    async def write(self, step: str, value: object) -> None:
        """Whole, or not at all."""
        await in_thread(self._write, self.folder / f"{step}.json", msgspec.json.encode(value))

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
