"""Verification seen from inside: what an agent's test can reach and take."""
