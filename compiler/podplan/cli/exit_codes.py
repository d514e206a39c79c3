"""The exit codes, the same for every command and every format."""

CLEAN = 0
FINDINGS = 1
USAGE_ERROR = 2
NO_INPUT = 3
INTERNAL_ERROR = 4
# A signal ended the run: this, and its number.
SIGNAL_BASE = 128
