"""The exit codes, the same for every command and every format."""

CLEAN = 0
FINDINGS = 1
WRONG_REQUEST = 2
NOTHING = 3
INTERNAL = 4
# A signal ended the run: this, and its number.
KILLED = 128
