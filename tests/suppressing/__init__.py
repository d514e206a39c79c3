"""Comments and annotations that silence findings."""
