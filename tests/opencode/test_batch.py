"""The real opencode, the real mngr and a scripted model: batches of four."""

from pathlib import Path

import pytest

from tests.opencode.program import PROGRAM
from tests.scripted import batches

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(1200)]


async def test_four_jobs_end_as_scripted_and_are_counted_to_the_token(tmp_path: Path) -> None:
    await batches.four_end_as_scripted_and_are_counted_to_the_token(tmp_path, PROGRAM)


async def test_a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path: Path) -> None:
    await batches.a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path, PROGRAM)
