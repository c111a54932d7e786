"""Makes one branch of what a batch's agents did, and a ledger of what became of each job."""
