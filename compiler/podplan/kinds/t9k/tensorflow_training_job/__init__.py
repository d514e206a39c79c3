"""TensorFlowTrainingJob: compile, decompile and lower."""
