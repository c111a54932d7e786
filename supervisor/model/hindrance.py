"""What the provider of a model says no with."""

from enum import StrEnum


class Hindrance(StrEnum):
    #: a rate or a quota that comes back by itself
    LIMIT = "limit"
    #: its servers fail, or can't be reached
    OVERLOAD = "overload"
    LOGIN = "login"
    #: it wants to be paid
    CREDIT = "credit"


#: those that no waiting mends
FOR_A_PERSON = frozenset({Hindrance.LOGIN, Hindrance.CREDIT})
