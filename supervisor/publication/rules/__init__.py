"""Parsing publications: bytes in, frozen values out. Pure."""
