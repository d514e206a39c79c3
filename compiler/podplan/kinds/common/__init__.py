"""Building blocks for any kind: parts of profiles and Pod templates, and names."""
