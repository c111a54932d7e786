"""Batches of the real opencode, through the gate, on a scripted model."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.daemon.sandbox import running
from tests.gate.behind import behind, counts_of
from tests.opencode.program import PROGRAM, env
from tests.scripted import batches
from tests.scripted.office import Part

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(1200)]

#: its own configuration leads nowhere: the gate's address comes from the daemon
THROUGH = replace(PROGRAM, env=lambda url: env("http://127.0.0.1:9"))


async def test_four_jobs_end_as_scripted_and_are_counted_to_the_token(tmp_path: Path) -> None:
    await batches.four_end_as_scripted_and_are_counted_to_the_token(tmp_path, THROUGH, behind)


async def test_a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path: Path) -> None:
    await batches.a_refused_login_stops_the_batch_until_a_person_has_seen_to_it(tmp_path, THROUGH, behind)


async def test_what_the_gate_has_counted_is_what_the_batch_took(tmp_path: Path) -> None:
    parts = [Part("plain", batches.CLEAN)]
    async with behind(tmp_path, parts, slots=1, program=THROUGH) as (made, model), running(made) as here:
        await here.submit()
        batch, jobs = await batches.sealed(here, 300)
        assert jobs[parts[0].test]["outcome"] == "clean"
        with closing(counts_of(made)) as counts:
            taken = sum(row.tokens.total for row in counts.taken())
        assert taken == sum(model.taken().values()) == sum(batch["tokens"].values())
