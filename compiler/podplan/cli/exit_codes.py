"""The exit codes, the same for every command and every format."""

CLEAN = 0
FINDINGS = 1
USAGE_ERROR = 2
NO_INPUT = 3
INTERNAL_ERROR = 4
# Plus the number of the signal that ended the run.
SIGNAL_BASE = 128
