"""The command lines, as processes of their own."""
