"""Who is told of alerts, and how."""
