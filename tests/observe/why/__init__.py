"""`why`: a sentence that names the cause, for every state that a job, a batch or a pool can be in."""
