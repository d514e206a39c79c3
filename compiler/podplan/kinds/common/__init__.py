"""Building blocks of any kind: parts of profiles and Pod templates, and names."""
