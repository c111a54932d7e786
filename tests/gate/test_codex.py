"""Batches of the real codex, through the gate, on a scripted model."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.codex.program import PROGRAM
from tests.gate.behind import behind
from tests.scripted import batches

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(1200)]

#: the gate's address comes from the daemon
THROUGH = replace(PROGRAM, args=lambda url: ())


async def test_four_jobs_end_as_scripted_and_are_counted_to_the_token(tmp_path: Path) -> None:
    await batches.four_end_as_scripted_and_are_counted_to_the_token(tmp_path, THROUGH, behind)


async def test_a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path: Path) -> None:
    await batches.a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path, THROUGH, behind)
