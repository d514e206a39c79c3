"""podplan render with output folders."""
