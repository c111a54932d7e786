"""The policy for agents' work and the doubts for reviewers, both read from source. Pure."""
