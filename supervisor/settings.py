"""The configuration: file, environment and flags become one frozen object."""
