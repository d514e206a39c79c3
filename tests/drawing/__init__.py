"""podplan graph."""
