"""What a verifier runs on its host: packed into one file, for any Python from 3.11."""
