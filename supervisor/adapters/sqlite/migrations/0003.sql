-- A digest of each row, by which one that was altered on disk is recognised. The functions are ours: see tally.py.
ALTER TABLE events ADD COLUMN digest INTEGER;
UPDATE events SET digest = event_digest(seq, at, kind, batch, job, attempt, body);
ALTER TABLE sealed ADD COLUMN digest INTEGER;
UPDATE sealed SET digest = sealed_digest(id, created_at, finished_at, status, jobs);
-- Of all that a checkpoint says, and the sums of the events that it stands for, as JSON.
DELETE FROM checkpoint;
ALTER TABLE checkpoint ADD COLUMN digest INTEGER;
ALTER TABLE checkpoint ADD COLUMN tallies TEXT;
