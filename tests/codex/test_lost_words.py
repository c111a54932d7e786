"""The real codex, whose first words are lost."""

from pathlib import Path

import pytest

from tests.codex.program import PROGRAM
from tests.scripted import lost_words

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]


async def test_it_is_told_to_begin_and_reminded_like_any_other(tmp_path: Path) -> None:
    await lost_words.it_is_told_to_begin_and_reminded_like_any_other(tmp_path, PROGRAM)
