"""podplan diff, in repositories of every kind."""
