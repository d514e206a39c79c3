"""PyTorchTrainingJob: compile, decompile and lower."""
