"""The cache of podplan check."""
