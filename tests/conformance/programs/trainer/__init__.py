"""A program that runs as a module only: it imports its neighbours by relative names."""
