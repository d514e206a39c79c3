"""MPIJob of T9k: compile, decompile and lower."""
