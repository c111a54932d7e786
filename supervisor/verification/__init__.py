"""Checks what agents claim: by rules on what they changed, and by running it in clean checkouts."""
