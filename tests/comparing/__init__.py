"""podplan diff, in various repositories."""
