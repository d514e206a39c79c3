"""Types and functions that every step uses."""
