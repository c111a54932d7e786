"""What an agent may not do, what a reviewer should look at, and how both are read from source. Pure."""
