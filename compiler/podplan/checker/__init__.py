"""Checking files: findings of files, of jobs, and of a whole run."""
