"""The gate: a small gateway between agents and their model, a process of its own.

Theory of operation. An agent gets a placeholder key of its attempt, and the gate's address on loopback instead of its
provider's. The gate looks the key up, makes sure that the largest amount the request can cost fits under every cap
that holds for the attempt (its batch's, its account's for today and this week), writes that amount down as reserved,
sends the request on with the account's real key, and passes the answer through as it comes. What the provider says it
took is then counted in place of the reservation.
A request that the provider refuses for a limit or an overload is held and sent again, so the agent sees an answer
that takes long instead of a failure.

    daemon ──writes──► keys.sqlite3 ──reads──► gate ──► provider
           ◄──reads── counts.sqlite3 ◄─writes──

Daemon and gate share two SQLite files, each with one writer. So neither waits for the other, either can be killed at
any moment, and what was written is there for the next one. A commit is in the kernel's hands when it returns, which
outlives a killed process; it is on disk within `sharing.SYNC_SECONDS`. A socket between the two would need both to be
there at the same time, and a protocol for what was said while one was not.

Nothing of what is asked or answered is kept, and nothing of it is logged.
"""
