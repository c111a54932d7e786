"""`command`: any program that follows the agent contract. It has no turns, and nothing is typed into its terminal."""

from supervisor.kinds.kind import Kind, Program, Start


class Command(Kind):
    first_words = ""

    def program(self, start: Start) -> Program:
        return Program("command", start.profile.command + start.profile.agent_args)
