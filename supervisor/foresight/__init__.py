"""Forecasts for a batch before it is submitted: pure functions of what earlier batches showed."""
