-- What has happened, in order. A number is never used again, not even when its event is forgotten.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    -- what it is about, as far as it goes; for looking up, `body` holds them as well
    batch TEXT,
    job INTEGER,
    attempt INTEGER,
    -- all fields, as JSON
    body TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_batch ON events (batch);
CREATE INDEX events_by_job ON events (batch, job) WHERE job IS NOT NULL;

-- What stays of a batch that has left memory. Replay passes over the events of these.
CREATE TABLE sealed (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    created_at REAL NOT NULL,
    finished_at REAL NOT NULL,
    status TEXT NOT NULL,
    jobs TEXT NOT NULL
) STRICT;

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
