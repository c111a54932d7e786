-- The state at one event: a shortcut for replay, and nothing is lost with it.
CREATE TABLE checkpoint (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    -- what the classes looked like that it was written from
    shape TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
