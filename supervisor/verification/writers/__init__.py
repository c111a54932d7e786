"""Judges what writers propose for a tutorial."""
