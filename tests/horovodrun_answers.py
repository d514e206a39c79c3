"""Records how the real horovodrun parses command lines; writes fixtures/launchers/horovodrun.jsonl.

The tests only read the file. To regenerate it, in a separate virtual environment; nothing of Horovod is
compiled for it, because only its launcher is asked:

    python -m venv /tmp/horovod
    /tmp/horovod/bin/pip install 'setuptools<70' wheel packaging psutil cloudpickle pyyaml
    HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITHOUT_GLOO=1 \\
        HOROVOD_WITHOUT_MPI=1 /tmp/horovod/bin/pip install --no-build-isolation --no-deps horovod==0.28.1
    /tmp/horovod/bin/python -m tests.horovodrun_answers

Each line is one object: the input ``words``; whether horovodrun ``accepted`` them, that is, started
something; the ``controller`` (mpi, gloo, or elastic, which is Gloo, too) with the ``processes`` and
``hosts``; for mpi also the words of ``mpirun``, with Open MPI; and the ``program`` words. No process is
started and no host is asked: the calls that would do so are replaced. Horovod pretends to have MPI and Gloo,
and a network interface eth0. The folder has the hostfiles HOSTS, with 4 slots on each of two hosts, NOSLOTS
and HYDRA.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shlex
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from tests.launcher_answers import FIXTURES, Answer, Started, answered, split

ENV = {"PATH": "/usr/bin:/bin", "HOME": "/root", "CUDA_VISIBLE_DEVICES": "0"}
FILES = {
    "HOSTS": "worker-0 slots=4\nworker-1 slots=4\n",
    "NOSLOTS": "worker-0\nworker-1\n",
    "HYDRA": "worker-0:4\nworker-1:4\n",
}
# The number of processes.
PROCESSES = """
-np 4|--num-proc 4|--num-proc=4|--num 4|-np=4|-np4|-n 4|--np 4|-np x|-np 1.5|-np 0|-np -1|-np|
-np 4 -np 2|-np 8 -np x|-np +4|-np 1_0|-np ''|--num-proc|
"""
# Written behind -np 4.
OPTIONS = """
-H a:2,b:2|--hosts a:2,b:2|--hosts=a:2,b:2|--host a:2,b:2|-H a,b|-H a:2|-H a:1,b:1|-H a:x|-H "a:2, b:2"|
-H a:2,|-H a:2:2|-H a_b:4|-H a.b.c:4|-H 10.0.0.1:4|-Ha:4|-H|-H localhost:4|-H a:2 -H b:4|-H A:0,b:4|
-hostfile HOSTS|--hostfile HOSTS|--hostfile=HOSTS|-hostfile=HOSTS|--hostf HOSTS|--hostfile missing|
--hostfile NOSLOTS|--hostfile HYDRA|-H a:4 --hostfile HOSTS|--hostfile HOSTS -H a:4|-machinefile HOSTS|
-f HOSTS|-hosts a:4|--hostfile|--host-discovery-script ./find|--host-discovery-script=./find|
--host-d ./find|--host-discovery-script ./find --slots-per-host 4|--host-discovery-script ./find -H a:4|
--host-discovery-script ./find --min-np 2 --max-np 8|--min-np 2 -H a:4,b:4|--min-np 2 -H a:4|--min-np 2|
--min-num-proc 2 -H a:4,b:4|--max-np 8 -H a:4,b:4|--max-num-proc=8 -H a:4|--min-np x|--min-np=2|
--min-np 2 --hostfile HOSTS|--min 2 -H a:4,b:4|--slots-per-host 2|--slots 2 -H a:4|--elastic-timeout 60|
--reset-limit 3|--blacklist-cooldown-range 1 2|--blacklist-cooldown-range 1|
--blacklist-cooldown-range 1 x|--blacklist-cooldown-range=1 2|--min-np 2 --gloo -H a:2,b:2|
--min-np 2 --mpi -H a:2,b:2|--gloo|--mpi|--jsrun|--gloo --mpi|--mpi --gloo|--gloo -H a:2,b:2|
--gloo -H a:1,b:1|--gloo --hostfile HOSTS|--mpi --hostfile HOSTS|--gloo=1|--use-gloo|-p 2222|
--ssh-port 2222|--ssh-port=x|-p2222|-p 2222 -i key|-i key|--ssh-identity-file key|
--network-interfaces eth1|--network-interface eth1|--network-interfaces eth0,eth1|
--network-interface eth0,eth1|--network eth0|--nics eth0|--start-timeout 60|--start-timeout x|
--output-filename out|--verbose|--verb|-v|--version|-h|--help|-cb|--check-build|--disable-cache|
--config-file missing|--fusion-threshold-mb 64|--fusion-threshold-mb -1|--fusion-threshold-mb=-1|
--fusion-threshold-mb 1.5|--cycle-time-ms 3.5|--cycle-time-ms x|--cache-capacity 1024|--cache-capacity=-1|
--hierarchical-allreduce|--no-hierarchical-allreduce|--hierarchical-allreduce --no-hierarchical-allreduce|
--hierarchical-allgather|--no-hierarchical-allgather|--torus-allreduce|--no-torus-allreduce|
--hierarchical|--autotune|--no-autotune|--autotune --no-autotune|--autotune-log-file log|
--autotune-warmup-samples 3|--autotune-warmup-samples=-3|--autotune-steps-per-sample 4|
--autotune-bayes-opt-max-samples 5|--autotune-gaussian-process-noise 0.5|
--autotune-gaussian-process-noise 2|--autotune-l log|--timeline-filename t.json|--timeline-mark-cycles|
--no-timeline-mark-cycles|--timeline-mark-cycles --no-timeline-mark-cycles|--no-stall-check|--stall-check|
--stall-check --no-stall-check|--stall-check-warning-time-seconds 60|
--stall-check-warning-time-seconds=-1|--stall-check-shutdown-time-seconds 60|--mpi-threads-disable|
--no-mpi-threads-disable|--mpi-threads-disable --no-mpi-threads-disable|--mpi-args "--oversubscribe"|
--mpi-args=--oversubscribe|--mpi-args="-x A -x B"|--mpi-args "-x A"|--mpi-args --oversubscribe|--tcp|
--binding-args="-bind-to socket"|--binding-args "--bind-to none"|--num-nccl-streams 2|--thread-affinity 1|
--gloo-timeout-seconds 30|--gloo-timeout-seconds x|--log-level INFO|--log-level info|--log-level=DEBUG|
--log-level|--log-with-timestamp|--log-without-timestamp|--log-hide-timestamp|--no-log-hide-timestamp|
--log-with-timestamp --log-without-timestamp|-prefix-timestamp|--prefix-output-with-timestamp|
-prefix-timestamp --log-without-timestamp|-x A=1|-x A|--mca pml ob1|--allow-run-as-root|-genv A 1|-N 2|
-bind-to none|--bind-to none|--unknown|--unknown 1|--unknown=1|-z|-1|--|--no|--st 1|--mpi-a x|--lo INFO|
--map-by slot|--oversubscribe|-vp 1|-verbose|-c|-cb1|-gloo|-mpi|-i|-p
"""
# The commands that have their own words.
TAILS = """
python train.py|python train.py --lr 1|python train.py -np 8|python train.py -H c:4|python -m train|
python -- train.py|-- python train.py|bash -c "python a.py && true"|train.py : -np 2 b.py|python "a b.py"|
||./train --hostfile x|python train.py --unknown=1|python train.py --gloo --mpi|python train.py --st 1
"""


def list_questions() -> Iterator[list[str]]:
    """Yield the lines: each option, some without a program, each program, and combinations."""
    options, tails = split(OPTIONS), split(TAILS)
    for words in split(PROCESSES):
        yield [*words, "python", "train.py"]
        yield [*words, "-H", "a:2,b:2", "python", "train.py"]
    for words in options:
        yield ["-np", "4", *words, "python", "train.py"]
    for words in options[::6]:
        yield [*words, "python", "train.py"]
        yield ["-np", "4", *words]
    for words in tails:
        yield ["-np", "2", *words]
        yield ["-np", "8", "-H", "a:4,b:4", *words]
    draw = random.Random(20241124)
    for _ in range(200):
        words = [word for entry in draw.choices(options, k=draw.randint(2, 3)) for word in entry]
        yield ["-np", str(draw.choice((2, 4, 8))), *words, *draw.choice(tails)]


def horovodrun(asked: list[list[str]]) -> Iterator[Answer]:
    launch: Any = import_module("horovod.runner.launch")
    mpi: Any = import_module("horovod.runner.mpi_run")
    gloo: Any = import_module("horovod.runner.gloo_run")

    def started(*args: Any, **named: Any) -> None:
        raise Started(args, named)

    def find_interfaces(settings: Any, *_: Any) -> Any:
        return sorted(settings.nics) if settings.nics else ["eth0"]

    def ask(words: list[str]) -> Answer:
        seen: list[Any] = []

        def run(settings: Any, *args: Any) -> None:
            seen.append(settings)
            real_mpi(settings, *args)

        def run_gloo(settings: Any, *_: Any) -> None:
            gloo.get_host_assignments(gloo.parse_hosts(settings.hosts), settings.num_proc)
            started("gloo", settings)

        with (
            mock.patch.object(sys, "argv", ["horovodrun", *words]),
            mock.patch.object(launch, "mpi_run", run),
            mock.patch.object(launch, "gloo_run", run_gloo),
        ):
            args = launch.parse_args()
            try:
                launch._run(args)
            except Started as end:
                found = end.args[0]
        program = args.command
        if seen:
            line = shlex.split(found[1][2])
            return {
                "controller": "mpi",
                "processes": seen[0].num_proc,
                "hosts": seen[0].hosts,
                "mpirun": line[1 : len(line) - len(program)],
                "program": program,
            }
        if found[0] == "gloo":
            processes, hosts = found[1].num_proc, found[1].hosts
            return {"controller": "gloo", "processes": processes, "hosts": hosts, "program": program}
        settings = found[0]
        limits = [settings.min_num_proc, settings.max_num_proc]
        return {"controller": "elastic", "processes": settings.num_proc, "limits": limits, "program": program}

    real_mpi = launch.mpi_run
    with (
        mock.patch.object(launch, "mpi_built", return_value=True),
        mock.patch.object(launch, "gloo_built", return_value=True),
        mock.patch.object(launch, "_check_all_hosts_ssh_successful", return_value=True),
        mock.patch.object(launch.network, "filter_local_addresses", lambda names: names),
        mock.patch.object(launch.network, "get_driver_ip", return_value="10.0.0.1"),
        mock.patch.object(launch.driver_service, "get_common_interfaces", find_interfaces),
        mock.patch.object(launch.cache, "Cache"),
        mock.patch.object(launch, "gloo_run_elastic", started),
        mock.patch.object(mpi, "_get_mpi_implementation", return_value=mpi._OMPI_IMPL),
        mock.patch.object(mpi.os, "execve", started),
    ):
        for words in asked:
            yield answered(ask, words, {})


def main() -> None:
    asked = {json.dumps(words): words for words in list_questions()}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, ENV, clear=True),
    ):
        for name, text in FILES.items():
            Path(name).write_text(text, encoding="utf-8")
        answers = list(horovodrun(list(asked.values())))
    for answer in answers:
        del answer["env"]
    lines = [json.dumps(answer, sort_keys=True) for answer in answers]
    (FIXTURES / "horovodrun.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"horovodrun: {len(lines)} answers, {sum(answer['accepted'] for answer in answers)} accepted")


if __name__ == "__main__":
    main()
