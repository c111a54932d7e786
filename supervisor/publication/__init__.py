"""Brings home what an agent published, or what it left. All of it is hostile until it has been checked."""
