"""From problems in documents of any step to findings at lines of files."""
