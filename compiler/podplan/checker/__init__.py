"""The parts of checking: what is said of a file, of a job, and what a run comes to."""
