"""DeepSpeedJob: compile, decompile and lower."""
