"""XGBoostTrainingJob: compile, decompile and lower."""
