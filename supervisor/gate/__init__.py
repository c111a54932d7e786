"""The gate: a small gateway between agents and their model, in a process of its own.

Theory of operation. An agent gets a placeholder key for its attempt, and the gate's address on loopback instead of
its provider's. The gate looks up the key, checks that the largest possible cost of the request fits under every cap
of the attempt (its batch's, its account's for today and this week), records that amount as reserved, forwards the
request with the account's real key, and streams the response through. The usage that the provider reports then
replaces the reservation.
A request that the provider refuses for a limit or an overload is held and sent again, so the agent sees a slow
response instead of a failure.

    daemon ──writes──► keys.sqlite3 ──reads──► gate ──► provider
           ◄──reads── counts.sqlite3 ◄─writes──

Daemon and gate share two SQLite files, each with one writer. So neither waits for the other, either can be killed at
any moment, and its successor finds what was written. When a commit returns, the kernel has the data, which survives a
killed process; it is on disk within `sharing.SYNC_SECONDS`. A socket between the two would need both to run at the
same time, and a protocol for messages that one of them missed.

The content of requests and responses is neither stored nor logged.
"""
