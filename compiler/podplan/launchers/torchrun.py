"""Parses torchrun, ``python -m torch.distributed.run`` and ``python -m torch.distributed.launch``.

Source: https://docs.pytorch.org/docs/stable/elastic/run.html, docs/evidence/torchrun.md, and torch 2.13
itself.
"""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.launchers.argparse import parse_command_line
from podplan.launchers.arguments import (
    CommandLine,
    OptionGrammar,
    OptionSpec,
    ParsedOption,
    add_dashed_spellings,
    is_valid_value,
    parse_integer,
    parse_option_table,
)
from podplan.launchers.commands import TorchrunCommand
from podplan.launchers.words import CommandLineError, EnvVariables, Word

OPTION_SPECS = tuple(
    add_dashed_spellings(
        parse_option_table("""
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
GRAMMAR = OptionGrammar("torchrun", OPTION_SPECS)
LAUNCH_GRAMMAR = OptionGrammar(
    "torch.distributed.launch", (*OPTION_SPECS, *add_dashed_spellings(parse_option_table("--use_env flag")))
)

# Options without an environment variable PET_….
_OPTIONS_WITHOUT_VARIABLE = {"logs_specs", "numa_binding", "use_env"}
_HOST_PATTERN = compile_lazily(r"[\w.:-]+\Z")
_PORT_PATTERN = compile_lazily(r"[0-9]{1,5}\Z")
_STREAMS_PATTERN = compile_lazily(r"(?:\d:[0-3],)*\d:[0-3]\Z|[0-3]\Z")
_DEFAULT_PORTS = {"c10d": 29400, "etcd": 2379, "etcd-v2": 2379}
# The keys of --rdzv_conf that the backends of torch read as integers (dynamic_rendezvous.py, api.py).
_RENDEZVOUS_NUMBERS = frozenset(
    ("join_timeout", "last_call_timeout", "close_timeout", "read_timeout", "timeout", "keep_alive_interval")
)
_HOST_WITH_PORT = compile_lazily(r"[A-Za-z0-9][\w.-]*:\d{1,5}\Z")
PROCESS_KEYWORDS = ("auto", "gpu", "cpu", "xpu")
# The backends that torch registers (torch/distributed/elastic/rendezvous/registry.py); an image may add
# others.
RENDEZVOUS_BACKENDS = ("c10d", "etcd", "etcd-v2", "static")
ETCD_BACKENDS = ("etcd", "etcd-v2")


def parse_torchrun(
    words: tuple[Word, ...], launcher_word: Word, variables: EnvVariables, grammar: OptionGrammar = GRAMMAR
) -> TorchrunCommand:
    """Parse a torchrun command line after the name of the program; ``variables`` are those of its
    environment."""
    command_line = parse_command_line(grammar, words, launcher_word)
    values = _OptionValues(command_line, variables, launcher_word, grammar)
    node_range = values.parse_node_range()
    standalone, is_module = values.get_flag("standalone"), values.get_flag("module")
    processes = values.parse_processes()
    max_restarts = values.get_number("max_restarts", 0)
    rdzv_conf = values.parse_rdzv_conf()
    if max_restarts is not None and max_restarts < 0:
        values.add_error("max_restarts", f"--max_restarts must be at least 0, not {max_restarts}")
    values.validate_ranks()
    values.validate_streams()
    if is_module and values.get_flag("no_python"):
        values.add_error("module", "--module and --no_python exclude each other")
    backend, endpoint = values.get_text("rdzv_backend", "static"), values.get_text("rdzv_endpoint", "")
    address, port = values.get_text("master_addr", "127.0.0.1"), values.get_number("master_port", 29500)
    if standalone:
        backend, endpoint = "c10d", "localhost:0"
    elif backend == "static" and endpoint == "":
        if "master_port" not in values.value_origins and node_range is not None and node_range[1] == 1:
            backend, endpoint = "c10d", "localhost:0"
        elif address is not None and port is not None:
            endpoint = f"{address}:{port}"
            if _HOST_WITH_PORT.match(address):
                values.add_error(
                    "master_addr",
                    f'--master_addr "{address}" is no host, because it has a port; use --master_port',
                )
        else:
            endpoint = None
    host, port_number = values.parse_endpoint(endpoint, backend)
    return TorchrunCommand(
        command_line,
        node_range,
        processes,
        backend,
        host,
        port_number,
        values.get_number("node_rank", 0),
        max_restarts,
        standalone,
        rdzv_conf,
        is_module,
        values.value_origins,
        tuple(values.errors) if command_line.is_certain else (),
    )


class _OptionValues:
    """The values of the options: from the line, else from PET_…, else the default of torchrun."""

    def __init__(
        self, command_line: CommandLine, variables: EnvVariables, launcher_word: Word, grammar: OptionGrammar
    ) -> None:
        self.options = command_line.options
        self.variables = variables
        self.launcher_word = launcher_word
        self.errors = list(command_line.errors)
        self.value_origins: dict[str, str] = {}
        for spec in grammar.options:
            self._record_origin(spec)

    def _record_origin(self, spec: OptionSpec) -> None:
        """Record the origin of an option, and validate the value of its variable."""
        name = spec.name
        variable = f"PET_{name.upper()}"
        is_in_env = name not in _OPTIONS_WITHOUT_VARIABLE and variable in self.variables
        value = self.variables.get(variable) if is_in_env else None
        if name in self.options:
            self.value_origins[name] = self.options[name].flag.text.partition("=")[0]
        elif is_in_env:
            self.value_origins[name] = variable
        if value is None:
            return
        if spec.kind == "flag" and parse_integer(value) is None:
            self.errors.append(
                CommandLineError(self.launcher_word, f'{variable} must be 0 or 1, not "{value}"')
            )
        elif name not in self.options and not is_valid_value(spec.kind, value):
            self.errors.append(
                CommandLineError(self.launcher_word, f'{variable} must be a number, not "{value}"')
            )

    def get_text(self, name: str, default: str) -> str | None:
        option = self.options.get(name)
        if option is not None:
            return option.value
        variable = f"PET_{name.upper()}"
        return self.variables.get(variable, default)

    def get_number(self, name: str, default: int) -> int | None:
        value = self.get_text(name, str(default))
        return None if value is None else parse_integer(value)

    def get_flag(self, name: str) -> bool:
        value = self.variables.get(f"PET_{name.upper()}")
        return name in self.options or bool(value is not None and parse_integer(value))

    def add_error(self, name: str, message: str) -> None:
        option: ParsedOption | None = self.options.get(name)
        word = option.word if option is not None else self.launcher_word
        variable = self.value_origins.get(name, "") if option is None else ""
        self.errors.append(CommandLineError(word, message, variable=variable))

    def parse_node_range(self) -> tuple[int, int] | None:
        value = self.get_text("nnodes", "1:1")
        if value is None:
            return None
        parts = [parse_integer(part) for part in value.split(":")]
        if len(parts) > 2 or None in parts:
            self.add_error("nnodes", f'--nnodes must be N or MIN:MAX, not "{value}"')
            return None
        minimum, maximum = int(parts[0] or 0), int(parts[-1] or 0)
        if not 0 < minimum <= maximum:
            self.add_error("nnodes", f'--nnodes "{value}" violates 0 < MIN <= MAX')
            return None
        return minimum, maximum

    def parse_processes(self) -> str | None:
        value = self.get_text("nproc_per_node", "1")
        if value is None:
            return None
        number = parse_integer(value)
        if number is None and value not in PROCESS_KEYWORDS:
            keywords = ", ".join(PROCESS_KEYWORDS)
            self.add_error(
                "nproc_per_node", f'--nproc_per_node must be a number or {keywords}, not "{value}"'
            )
        return str(number) if number is not None else value

    def validate_streams(self) -> None:
        """Validate ``--redirects`` and ``--tee``, which select streams by number, for all ranks or per
        rank."""
        for name in ("redirects", "tee"):
            value = self.get_text(name, "0")
            if value is not None and not _STREAMS_PATTERN.match(value):
                self.add_error(name, f'--{name} must be 0 to 3, or RANK:0 to 3 for each rank, not "{value}"')

    def validate_ranks(self) -> None:
        """Validate ``--local_ranks_filter``, which lists the ranks whose output is shown."""
        value = self.get_text("local_ranks_filter", "")
        if value and None in map(parse_integer, value.split(",")):
            self.add_error("local_ranks_filter", f'--local_ranks_filter must be N,N, not "{value}"')

    def parse_rdzv_conf(self) -> dict[str, str] | None:
        """Parse ``--rdzv_conf`` to a mapping."""
        value = self.get_text("rdzv_conf", "")
        if value is None:
            return None
        rdzv_conf: dict[str, str] = {}
        for pair in value.strip().split(",") if value.strip() else ():
            key, _, text = (part.strip() for part in pair.partition("="))
            if not key:
                self.add_error("rdzv_conf", f'--rdzv_conf "{value}" has a pair without a key; write K=V,K=V')
                return rdzv_conf
            if not text:
                self.add_error("rdzv_conf", f'--rdzv_conf has no value for "{key}"')
                return rdzv_conf
            if key in _RENDEZVOUS_NUMBERS and parse_integer(text) is None:
                message = f'{key} of --rdzv_conf must be a whole number of seconds, not "{text}"'
                self.add_error("rdzv_conf", message)
            rdzv_conf[key] = text
        return rdzv_conf

    def parse_endpoint(self, endpoint: str | None, backend: str | None) -> tuple[str | None, int | None]:
        """Parse host and port; c10d has a default port."""
        endpoint = endpoint.strip() if endpoint else ""
        if not endpoint:
            return None, None
        host, colon, port = endpoint, "", ""
        if not (endpoint.startswith("[") and endpoint.endswith("]")) and ":" in endpoint:
            host, colon, port = endpoint.rpartition(":")
        host = host[1:-1] if len(host) > 1 and host[0] == "[" and host[-1] == "]" else host
        if not _HOST_PATTERN.match(host):
            self.add_error(
                "rdzv_endpoint", f'the host of --rdzv_endpoint "{endpoint}" is not a name or an address'
            )
        if not colon:
            return host, _DEFAULT_PORTS.get(backend or "")
        number = int(port) if _PORT_PATTERN.match(port) else None
        if number is None or number > 65535:
            message = f'the port of --rdzv_endpoint "{endpoint}" must be a number from 0 to 65535'
            self.add_error("rdzv_endpoint", message)
            return host, None
        return host, number
