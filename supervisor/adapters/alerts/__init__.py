"""Tells receivers of alerts: webhooks and mail."""
