"""BeamJob: compile, decompile and lower."""
