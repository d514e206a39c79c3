"""JobSet: Jobs that belong together."""
