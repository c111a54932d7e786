"""Simulated nights: the core beside a provider with windows and rates, on a clock that steps."""
