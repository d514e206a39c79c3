"""The options of mpirun, by MPI implementation.

Source: docs/evidence/mpirun.md#options. The tables come from runs of the real programs.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import NamedTuple


class MpirunGrammar(NamedTuple):
    """How one implementation parses its options.

    ``options`` maps a spelling without dashes to the name of the option here and the number of its values. Of
    an option that is given twice the last counts, unless ``keeps_first``; ``refuses_repeated`` if that is an
    error. If it ``abbreviates``, an unambiguous prefix is a spelling, too. An option in ``only_double_dash``
    has no spelling with one dash, and takes no "=". ``joins_letters``: one dash may precede several options
    of one letter. ``choices`` are the values of an option up to the first colon, and ``numbers`` the options
    whose value has to be a number.
    """

    name: str
    options: dict[str, tuple[str, int]]
    takes_equals: bool = True
    refuses_repeated: bool = False
    keeps_first: bool = False
    abbreviates: bool = False
    is_case_sensitive: bool = True
    joins_letters: bool = False
    only_double_dash: frozenset[str] = frozenset()
    choices: Mapping[str, frozenset[str]] = {}
    numbers: frozenset[str] = frozenset()


# Spelling -> the name here. The other options have their own name, with underscores.
_ALIASES = {
    "np": "np", "n": "np", "c": "np",
    "N": "per_node", "npernode": "per_node", "ppn": "per_node", "perhost": "per_node", "grr": "per_node",
    "hostfile": "hostfile", "machinefile": "hostfile", "machine": "hostfile", "f": "hostfile",
    "default-hostfile": "hostfile", "H": "host", "host": "host", "hosts": "host", "hostlist": "host",
    "machines": "host", "machinelist": "host",
    "x": "export", "genv": "export", "env": "export", "genvlist": "export_list", "envlist": "export_list",
    "mca": "mca", "gmca": "mca", "omca": "mca", "gomca": "mca", "prtemca": "mca", "gprtemca": "mca",
    "pmixmca": "mca", "gpmixmca": "mca",
    "wd": "wdir", "gwdir": "wdir", "rf": "rankfile", "q": "quiet", "v": "verbose", "V": "version",
    "h": "help", "bootstrap": "launcher", "bootstrap-exec": "launcher_exec", "binding": "bind_to",
    "l": "prepend_rank",
}  # fmt: skip


def _build_table(flags: str, one_value: str, two_values: str) -> dict[str, tuple[str, int]]:
    return {
        spelling: (_ALIASES.get(spelling, spelling.replace("-", "_")), value_count)
        for value_count, spellings in enumerate((flags, one_value, two_values))
        for spelling in spellings.split()
    }


_CACHES = "l1cache l2cache l3cache"
_OPEN_MPI_4_CHOICES = {
    "bind_to": frozenset(f"none hwthread core {_CACHES} socket numa board cpu-list".split()),
    "map_by": frozenset(
        f"slot hwthread core {_CACHES} socket numa board node seq sequential dist ppr".split()
    ),
    "rank_by": frozenset(f"slot hwthread core {_CACHES} socket numa board node".split()),
}
_OPEN_MPI_5_CHOICES = {
    "bind_to": frozenset(f"none hwthread core {_CACHES} socket package numa".split()),
    "map_by": frozenset(
        f"slot hwthread core {_CACHES} socket package numa node seq dist ppr rankfile pe-list".split()
    ),
    "rank_by": frozenset(("slot", "node", "fill", "span")),
}

OPEN_MPI_4 = MpirunGrammar(
    "Open MPI 4.1",
    _build_table(
        """
        V allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot continuous d debug debug-daemons
        debug-daemons-file debug-devel disable-recovery display-allocation display-devel-allocation
        display-devel-map display-diffable-map display-map display-topo do-not-launch do-not-resolve dvm
        enable-instant-on-support enable-recovery fwd-mpirun-port get-stack-traces h help index-argv-by-rank
        leave-session-attached merge-stderr-to-stdout nolocal nooversubscribe noprefix novm output-proctable
        oversubscribe pernode preload-binary q quiet report-bindings report-child-jobs-separately
        report-state-on-timeout s set-cwd-to-session-dir show-progress tag-output timestamp-output tv
        use-hwthread-cpus use-regexp v verbose version xml
        """,
        """
        H N am app bind-to c cartofile cf cpu-list cpu-set cpus-per-proc cpus-per-rank debugger
        default-hostfile hnp host hostfile launch-agent machinefile map-by max-restarts max-vm-size n np
        npernode npersocket ompi-server output-filename path personality ppr prefix preload-files rank-by
        rankfile report-events report-pid report-uri rf stdin timeout tune wd wdir x xml-file xterm
        """,
        "gmca mca",
    ),
    takes_equals=False,
    joins_letters=True,
    choices=_OPEN_MPI_4_CHOICES,
    numbers=frozenset(("np", "per_node", "npersocket", "cpus_per_rank", "cpus_per_proc", "timeout")),
)
OPEN_MPI_5 = MpirunGrammar(
    "Open MPI 5.0",
    _build_table(
        """
        V allow-run-as-root bind-to-core bycore bynode byslot continuous debug-daemons
        debug-daemons-file disable-recovery display-allocation display-comm display-comm-finalize
        display-devel-map display-map do-not-launch enable-recovery fwd-environment get-stack-traces h help
        hetero-nodes leave-session-attached merge-stderr-to-stdout no-aggregate-help no-app-prefix nolocal
        nooversubscribe noprefix output-proctable oversubscribe parsable parseable pernode preload-binary
        report-bindings report-child-jobs-separately report-state-on-timeout show-progress soft stop-in-app
        stop-in-init stop-on-exec tag-output timestamp timestamp-output use-hwthread-cpus v verbose version
        xml
        """,
        """
        H N am app app-pmix-prefix append-env arch bind-to c cpu-list cpu-set cpus-per-proc cpus-per-rank
        default-hostfile display display-topo dvm forward-signals gpu-support host hostfile
        initial-errhandler launch-agent machinefile map-by max-restarts max-vm-size memory-alloc-kinds n np
        npernode npersocket output output-directory output-filename path personality ppr prefix preload-files
        prepend-env pset rank-by rankfile report-pid report-uri rtos runtime-options spawn-timeout stdin
        stream-buffering timeout tmpdir tune unset-env wd wdir with-ft x xterm
        """,
        "gmca gomca gpmixmca gprtemca mca omca pmixmca prtemca",
    ),
    keeps_first=True,
    abbreviates=True,
    only_double_dash=frozenset(("bind-to", "map-by", "rank-by", "runtime-options")),
    choices=_OPEN_MPI_5_CHOICES,
    numbers=frozenset(("per_node",)),
)
INTEL_MPI = MpirunGrammar(
    "Intel MPI",
    _build_table(
        """
        V aps check check-mpi check_mpi cleanup dac debug disable-auto-cleanup disable-x enable-auto-cleanup
        enable-x envall envnone gdb gdb-ia genvall genvnone h help idb ilp64 info l mps noconf nolocal
        ordered-output pmi-aggregate pmi-noaggregate prefork prepend-rank prepend-timestamp
        print-all-exitcodes print-rank-map profile prot rr silent-abort trace trace-collectives
        trace-imbalance trace-pt2pt trace_imbalance tv v v6 verbose version
        """,
        """
        bind-to binding bootstrap bootstrap-exec bootstrap-exec-args branch-count configfile cpu-bind demux
        envexcl envlist errfile errfile-pattern f gdb-args gdba genvexcl genvlist gpath grr gtool gtoolfile
        gwdir host hostfile hostlist hosts hosts-group iface launcher launcher-exec localhost machine
        machinefile machinelist machines map-by membind n nameserver np outfile outfile-pattern perhost
        path pmi-connect pmi_args ppn prepend-pattern r rmk s tmpdir tree-width tune tva usize
        use-app-topology wdir
        """,
        "env genv",
    ),
    refuses_repeated=True,
    numbers=frozenset(("np", "per_node")),
)
MPICH = MpirunGrammar(
    "MPICH",
    _build_table(
        """
        dac debug disable-auto-cleanup disable-x enable-auto-cleanup enable-x envall envnone genvall genvnone
        h help info l pmi-port prepend-rank print-all-exitcodes profile skip-launch-node v verbose version
        """,
        """
        bind-to binding bootstrap bootstrap-exec configfile demux envlist errfile errfile-pattern f g genvlist
        gpus-per-proc host hostfile hostlist hosts iface launcher launcher-exec localhost machine machinefile
        machinelist machines map-by membind n nameserver np order-nodes outfile outfile-pattern output-from
        ppn prepend-pattern rmk topolib usize wdir
        """,
        "env genv",
    ),
    refuses_repeated=True,
    is_case_sensitive=False,
    numbers=frozenset(("per_node",)),
)
GRAMMARS = (OPEN_MPI_4, OPEN_MPI_5, INTEL_MPI, MPICH)
