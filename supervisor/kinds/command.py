"""`command`: any program that follows the agent contract. It has no turns, and nothing is typed into its terminal."""

from dataclasses import replace

from supervisor.kinds.kind import Kind, Program, Start
from supervisor.ports import AgentOrder


class Command(Kind):
    first_words = ""
    #: the program may use either
    apis = ("anthropic", "openai")
    has_walls = True

    def program(self, start: Start) -> Program:
        return Program("command", start.profile.command + start.profile.agent_args)

    def walled(self, order: AgentOrder, keeper: tuple[str, ...]) -> AgentOrder:
        return replace(order, args=(*keeper, *order.args))
