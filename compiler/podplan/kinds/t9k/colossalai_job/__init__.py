"""ColossalAIJob: compile, decompile and lower."""
