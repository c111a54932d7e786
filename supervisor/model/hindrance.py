"""Why a model's provider refuses to serve an agent."""

from enum import StrEnum


class Hindrance(StrEnum):
    #: what a subscription grants for some hours, or for a week, is used up; it is granted again at a known time
    WINDOW = "window"
    #: too many requests, or too many tokens, in a minute
    RATE = "rate"
    #: a window or a rate: what journals of older versions say
    LIMIT = "limit"
    #: its servers fail, or can't be reached
    OVERLOAD = "overload"
    LOGIN = "login"
    #: the account has no credit left
    CREDIT = "credit"


#: hindrances that waiting does not resolve
FOR_A_PERSON = frozenset({Hindrance.LOGIN, Hindrance.CREDIT})
#: hindrances for which the account waits, and so its jobs need no back-off of their own
WAITED_OUT = frozenset({Hindrance.WINDOW, Hindrance.RATE, Hindrance.OVERLOAD})
