"""Values in small files: compressed JSON, written atomically."""

import os
import zlib
from pathlib import Path
from typing import Any

import msgspec


def write(path: Path, value: Any) -> None:
    """Blocking. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
    try:
        partial.write_bytes(zlib.compress(msgspec.json.encode(value, enc_hook=str), 1))
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


def read[T](path: Path, kind: type[T]) -> T | None:
    """None: there is none, or of another version. Blocking."""
    try:
        return msgspec.json.decode(zlib.decompress(path.read_bytes()), type=kind, dec_hook=_rich)
    except (OSError, zlib.error, msgspec.MsgspecError):
        return None


def _rich(kind: type, value: Any) -> Any:
    return kind(value)
