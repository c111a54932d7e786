"""Why a model's provider refuses to serve an agent."""

from enum import StrEnum


class Hindrance(StrEnum):
    #: a rate limit or quota that resets by itself
    LIMIT = "limit"
    #: its servers fail, or can't be reached
    OVERLOAD = "overload"
    LOGIN = "login"
    #: the account has no credit left
    CREDIT = "credit"


#: hindrances that waiting does not resolve
FOR_A_PERSON = frozenset({Hindrance.LOGIN, Hindrance.CREDIT})
