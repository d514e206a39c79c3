"""BeamJob: lower."""
