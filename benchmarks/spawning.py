"""`python -I -S spawning.py OUT COMMAND …` prints exit code, CPU seconds and peak memory in kB of a command.

The peak that the system tells of a process begins with that of the one that has started it, so that this is
one of its own that imports next to nothing. OUT is where the command prints to.
"""

import os
import sys

to, *command = sys.argv[1:]
_OUT = (os.POSIX_SPAWN_OPEN, 1, to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
child = os.posix_spawnp(command[0], command, os.environ, file_actions=[_OUT])
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
