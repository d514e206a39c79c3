"""action.yml from end to end, in a test double of the runner."""
