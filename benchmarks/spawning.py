"""`python -I -S spawning.py OUT COMMAND …` prints exit code, CPU seconds and peak memory in kB of a command.

The peak that the system reports for a process starts with that of its parent, so the parent must be a process
with few imports: this one. The output of the command goes to OUT.
"""

import os
import sys

to, *command = sys.argv[1:]
_OUT = (os.POSIX_SPAWN_OPEN, 1, to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
child = os.posix_spawnp(command[0], command, os.environ, file_actions=[_OUT])
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
