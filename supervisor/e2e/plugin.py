"""The pytest plugin: the `e2e` fixture and its options."""
