"""podplan render into folders."""
