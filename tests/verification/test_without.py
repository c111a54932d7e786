"""Where no walls can be built: what a profile that requires them hears, and what is noted for one that does not."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from supervisor.control.desk import Desk
from supervisor.control.intake import look
from supervisor.errors import Refused
from supervisor.model.profile import Profile
from supervisor.verification.trials.asking import Unready
from tests.verification.arena import TEXT, arena

#: in a user namespace that may have none below it
SHUT = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
MEND = "`sysctl -w user.max_user_namespaces=10000`"


class OneProfile:
    def __init__(self, sandbox: str) -> None:
        self._sandbox = sandbox

    def profile(self, name: str) -> Profile:
        return Profile(name=name, sandbox=self._sandbox)


async def said(folder: Path) -> dict[str, Any]:
    async with arena(folder) as here:
        async with here.trial(sandbox="auto") as trial:
            run = await trial.run(TEXT)
        async with here.trial(sandbox="off") as off:
            await off.run(TEXT)
        try:
            async with here.trial(sandbox="require"):
                required = ""
        except Unready as unready:
            required = str(unready)
    try:
        await look(cast("Desk", OneProfile("require")), folder, "walled", allow_dirty=False)
        refused = ""
    except Refused as error:
        refused = f"{error.message} ({error.hint})"
    return {"passed": run.passed, "log": trial.log, "off": off.log, "required": required, "refused": refused}


def test_where_none_can_be_built(tmp_path: Path) -> None:
    argv = ["unshare", "-Ur", "sh", "-c", SHUT, "sh", sys.executable, "-m", __name__, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    if "Operation not permitted" in done.stderr and not done.stdout:
        pytest.skip("no user namespace can be made here")
    found = json.loads(done.stdout or done.stderr)

    assert found["passed"]
    assert found["log"].startswith("without walls: a user namespace for the program\n")
    assert "without walls" not in found["off"]
    assert found["required"].startswith("walls can't be built on this machine (a user namespace for the program)")
    assert MEND in found["required"]
    assert found["refused"].startswith("profile walled requires walls, and this machine can't build them: ")
    assert MEND in found["refused"]


if __name__ == "__main__":
    print(json.dumps(anyio.run(said, Path(sys.argv[1]))))
