"""Checks what agents claim: by policy on what they changed, and by running it in a clean checkout."""
