"""GenericJob: compile, decompile and lower."""
