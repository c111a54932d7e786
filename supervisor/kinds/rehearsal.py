"""`rehearsal`: our own agent without a model. For mngr it is a command; it accepts messages like a coding agent."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from supervisor.kinds.kind import Kind, Program, Start
from supervisor.model.profile import Role
from supervisor.ports import AgentOrder

#: Its program for each role, and the program's data.
PROGRAMS: Mapping[Role, tuple[str, str]] = {
    "tester": ("rehearsal.py", "defects.json"),
    "integrator": ("rehearsal.py", "defects.json"),
    "writer": ("rehearsal_writer.py", "writing.json"),
}
AGENTS = Path(str(files("supervisor.agents")))
KNOWLEDGE = AGENTS.parent / "rehearsal"


class Rehearsal(Kind):
    #: needs no first message: it finds its task by itself
    first_words = ""
    has_walls = True
    reads = (AGENTS, KNOWLEDGE)

    def program(self, start: Start) -> Program:
        program, knowledge = PROGRAMS[start.role]
        args = start.profile.agent_args
        if start.is_here:
            return Program("command", (str(AGENTS / program), *args))
        # mngr quotes every word of a command, so the program's path must be relative to the work directory.
        carried = {
            f"{start.folder}/{program}": AGENTS / program,
            f"{start.folder}/{knowledge}": KNOWLEDGE / knowledge,
        }
        copies = " ".join(f'"$MNGR_AGENT_STATE_DIR/{name}"' for name in carried)
        return Program("command", (f".git/{program}", *args), carried, (f"cp {copies} .git/",))

    def walled(self, order: AgentOrder, keeper: tuple[str, ...]) -> AgentOrder:
        return replace(order, args=(*keeper, *order.args))
