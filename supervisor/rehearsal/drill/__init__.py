"""`supervisorctl doctor --drill`: rehearses on a box what a night may do to it, before a team trusts it.

Theory of operation. A daemon of its own, in a temporary directory, has the pools that were judged and nothing else of
the user's but mngr's settings, in a copy (`ground`). In each pool one agent without a model goes through its whole
life; then an agent is killed, then a call of mngr, then the daemon (`program`). What a batch came to is read from the
daemon's own events (`course`), and whether anything was lost or doubled from its ledger (`intact`). A pool that fails
is told of and left out of what follows; the others go on.
"""
