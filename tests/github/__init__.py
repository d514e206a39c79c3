"""action.yml from end to end, in a runner of our own."""
