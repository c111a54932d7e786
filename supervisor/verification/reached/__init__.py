"""What tests reached, kept for the selector, which chooses the tests that run again."""
