"""Know what is in the pantry, what runs out and what to eat first."""


class Refusal(Exception):
    """What was asked cannot be done; the text tells a person why."""
