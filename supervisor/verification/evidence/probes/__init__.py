"""What runs inside of the interpreter under trial, on runs that gather evidence: nothing of ours is imported here."""
