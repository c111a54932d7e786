"""What mngr is asked for on behalf of an attempt: the agent contract, its prompt and its command."""
