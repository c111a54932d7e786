"""Recordings of terminals that tests made: found where tests ran, kept, and made into films for a page."""
