"""What tests reached, kept for those who choose which tests go again."""
