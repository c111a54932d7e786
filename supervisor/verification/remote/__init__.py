"""Runs tests on other hosts: the same trials, by a verifying agent of ours that mngr makes there."""
