"""torchrun, ``python -m torch.distributed.run`` and ``python -m torch.distributed.launch``.

Source: https://docs.pytorch.org/docs/stable/elastic/run.html, docs/evidence/torchrun.md, and torch 2.13
itself.
"""

from __future__ import annotations

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.launchers.argparse import parse
from podplan.launchers.arguments import Grammar, Known, Line, Option, both, fits, integer, options
from podplan.launchers.words import Fault, Variables, Word

OPTIONS = tuple(
    both(
        options("""
        --nnodes text
        --nproc_per_node text
        --rdzv_backend text
        --rdzv_endpoint text
        --rdzv_id text
        --rdzv_conf text
        --standalone flag
        --max_restarts int
        --monitor_interval float
        --start_method spawn|fork|forkserver
        --event_log_handler text
        --role text
        -m --module flag
        --no_python flag
        --run_path flag
        --log_dir text
        -r --redirects text
        -t --tee text
        --local_ranks_filter text
        --duplicate_stdout_filters text
        --duplicate_stderr_filters text
        --node_rank int
        --master_addr text
        --master_port int
        --local_addr text
        --logs_specs text
        --numa_binding node|socket|exclusive|core-complex
        --signals_to_handle text
        --shutdown_timeout int
        --virtual_local_rank flag
        """)
    )
)
GRAMMAR = Grammar("torchrun", OPTIONS)
LAUNCH = Grammar("torch.distributed.launch", (*OPTIONS, *both(options("--use_env flag"))))

# Options that no variable PET_… gives a value to.
_NOT_FROM_ENV = {"logs_specs", "numa_binding", "use_env"}
_HOST = pattern(r"[\w.:-]+\Z")
_PORT = pattern(r"[0-9]{1,5}\Z")
_STREAMS = pattern(r"(?:\d:[0-3],)*\d:[0-3]\Z|[0-3]\Z")
_PORTS = {"c10d": 29400, "etcd": 2379, "etcd-v2": 2379}
PROCESSES = ("auto", "gpu", "cpu", "xpu")
# What torch registers itself (torch/distributed/elastic/rendezvous/registry.py); an image may add others.
BACKENDS = ("c10d", "etcd", "etcd-v2", "static")
ETCD = ("etcd", "etcd-v2")


class Torchrun(NamedTuple):
    """What a torchrun line asks for; None is what is not known offline.

    ``nodes`` are the fewest and the most; ``processes`` a number or auto, gpu, cpu, xpu. ``backend`` and
    ``endpoint`` (host and port) are those in effect: with ``standalone``, and with one node and no address,
    torchrun meets itself at localhost. ``given`` names where a value comes from: its option, or PET_….
    """

    line: Line
    nodes: tuple[int, int] | None
    processes: str | None
    backend: str | None
    host: str | None
    port: int | None
    node_rank: int | None
    max_restarts: int | None
    standalone: bool
    conf: dict[str, str] | None
    module: bool
    given: dict[str, str]
    errors: tuple[Fault, ...]

    def where(self, name: str, otherwise: Word) -> Word:
        """The word that gives an option its value, or ``otherwise``."""
        option = self.line.options.get(name)
        return option.word if option is not None else otherwise


def read(words: tuple[Word, ...], start: Word, variables: Variables, grammar: Grammar = GRAMMAR) -> Torchrun:
    """A torchrun line after the name of the program; ``variables`` are those of its environment."""
    line = parse(grammar, words, start)
    values = _Values(line, variables, start, grammar)
    nodes = values.nodes()
    standalone, module = values.flag("standalone"), values.flag("module")
    processes = values.processes()
    restarts = values.number("max_restarts", 0)
    conf = values.conf()
    if restarts is not None and restarts < 0:
        values.fault("max_restarts", f"--max_restarts is {restarts}; it cannot be below 0")
    values.ranks()
    values.streams()
    if module and values.flag("no_python"):
        values.fault("module", "--module and --no_python exclude each other")
    backend, endpoint = values.text("rdzv_backend", "static"), values.text("rdzv_endpoint", "")
    address, port = values.text("master_addr", "127.0.0.1"), values.number("master_port", 29500)
    if standalone:
        backend, endpoint = "c10d", "localhost:0"
    elif backend == "static" and endpoint == "":
        if "master_port" not in values.given and nodes is not None and nodes[1] == 1:
            backend, endpoint = "c10d", "localhost:0"
        elif address is not None and port is not None:
            endpoint = f"{address}:{port}"
        else:
            endpoint = None
    host, number = values.endpoint(endpoint, backend)
    return Torchrun(
        line,
        nodes,
        processes,
        backend,
        host,
        number,
        values.number("node_rank", 0),
        restarts,
        standalone,
        conf,
        module,
        values.given,
        tuple(values.faults) if line.sure else (),
    )


class _Values:
    """The values of the options: from the line, else from PET_…, else torchrun's own."""

    def __init__(self, line: Line, variables: Variables, start: Word, grammar: Grammar) -> None:
        self.options = line.options
        self.variables = variables
        self.start = start
        self.faults = list(line.faults)
        self.given: dict[str, str] = {}
        for known in grammar.options:
            self._from(known)

    def _from(self, known: Known) -> None:
        """Notes who gives an option, and refuses what its variable holds."""
        name = known.name
        variable = f"PET_{name.upper()}"
        in_env = name not in _NOT_FROM_ENV and variable in self.variables
        value = self.variables.get(variable) if in_env else None
        if name in self.options:
            self.given[name] = self.options[name].flag.text.partition("=")[0]
        elif in_env:
            self.given[name] = variable
        if value is None:
            return
        if known.kind == "flag" and integer(value) is None:
            self.faults.append(Fault(self.start, f'{variable} must be 0 or 1, not "{value}"'))
        elif name not in self.options and not fits(known.kind, value):
            self.faults.append(Fault(self.start, f'{variable} must be a number, not "{value}"'))

    def text(self, name: str, otherwise: str) -> str | None:
        option = self.options.get(name)
        if option is not None:
            return option.value
        variable = f"PET_{name.upper()}"
        return self.variables.get(variable, otherwise)

    def number(self, name: str, otherwise: int) -> int | None:
        value = self.text(name, str(otherwise))
        return None if value is None else integer(value)

    def flag(self, name: str) -> bool:
        value = self.variables.get(f"PET_{name.upper()}")
        return name in self.options or bool(value is not None and integer(value))

    def fault(self, name: str, sentence: str) -> None:
        option: Option | None = self.options.get(name)
        self.faults.append(Fault(option.word if option is not None else self.start, sentence))

    def nodes(self) -> tuple[int, int] | None:
        value = self.text("nnodes", "1:1")
        if value is None:
            return None
        parts = [integer(part) for part in value.split(":")]
        if len(parts) > 2 or None in parts:
            self.fault("nnodes", f'--nnodes takes N or MIN:MAX, not "{value}"')
            return None
        least, most = int(parts[0] or 0), int(parts[-1] or 0)
        if not 0 < least <= most:
            self.fault("nnodes", f'--nnodes "{value}" breaks 0 < MIN <= MAX')
            return None
        return least, most

    def processes(self) -> str | None:
        value = self.text("nproc_per_node", "1")
        if value is None:
            return None
        number = integer(value)
        if number is None and value not in PROCESSES:
            words = ", ".join(PROCESSES)
            self.fault("nproc_per_node", f'--nproc_per_node takes a number or {words}; not "{value}"')
        return str(number) if number is not None else value

    def streams(self) -> None:
        """``--redirects`` and ``--tee`` name streams by a number, for all ranks or for each."""
        for name in ("redirects", "tee"):
            value = self.text(name, "0")
            if value is not None and not _STREAMS.match(value):
                self.fault(name, f'--{name} takes 0 to 3, or RANK:0 to 3 for each rank, not "{value}"')

    def ranks(self) -> None:
        """``--local_ranks_filter`` lists the ranks whose output is shown."""
        value = self.text("local_ranks_filter", "")
        if value and None in map(integer, value.split(",")):
            self.fault("local_ranks_filter", f'--local_ranks_filter takes N,N, not "{value}"')

    def conf(self) -> dict[str, str] | None:
        """``--rdzv_conf`` as a mapping."""
        value = self.text("rdzv_conf", "")
        if value is None:
            return None
        found: dict[str, str] = {}
        for pair in value.strip().split(",") if value.strip() else ():
            key, _, text = (part.strip() for part in pair.partition("="))
            if not key:
                self.fault("rdzv_conf", f'--rdzv_conf "{value}" has a pair without a key; write K=V,K=V')
                return found
            if not text:
                self.fault("rdzv_conf", f'--rdzv_conf gives "{key}" no value')
                return found
            found[key] = text
        return found

    def endpoint(self, endpoint: str | None, backend: str | None) -> tuple[str | None, int | None]:
        """Host and port; c10d has a port of its own where none is given."""
        endpoint = endpoint.strip() if endpoint else ""
        if not endpoint:
            return None, None
        host, colon, port = endpoint, "", ""
        if not (endpoint.startswith("[") and endpoint.endswith("]")) and ":" in endpoint:
            host, colon, port = endpoint.rpartition(":")
        host = host[1:-1] if len(host) > 1 and host[0] == "[" and host[-1] == "]" else host
        if not _HOST.match(host):
            self.fault(
                "rdzv_endpoint", f'the host of --rdzv_endpoint "{endpoint}" is not a name or an address'
            )
        if not colon:
            return host, _PORTS.get(backend or "")
        number = int(port) if _PORT.match(port) else None
        if number is None or number > 65535:
            sentence = f'the port of --rdzv_endpoint "{endpoint}" must be a number from 0 to 65535'
            self.fault("rdzv_endpoint", sentence)
            return host, None
        return host, number
