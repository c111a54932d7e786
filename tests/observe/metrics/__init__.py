"""Metrics: what they say, by the rules of Prometheus, and the dashboard and alerts made of them."""
