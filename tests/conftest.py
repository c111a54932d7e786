"""What pytest wants to know at the root of the tests only."""

pytest_plugins = ["pytester"]
