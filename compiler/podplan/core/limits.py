"""Limits on what podplan reads and builds, and the exception for exceeding one.

Input comes from pull requests, so every step that could grow without bound has a limit here. The user of
podplan can change them in the environment variable PODPLAN_LIMITS, as in
``PODPLAN_LIMITS=file-bytes=33554432,bases=500``; no file in the repository can. An exceeded limit is an
error; it never changes a result. docs/limits.md lists all of them.
"""

from __future__ import annotations

import os

LIMITS_VARIABLE = "PODPLAN_LIMITS"

LIMITS = {
    "file-bytes": 8 * 1024 * 1024,  # of one file
    "documents": 10_000,  # of one file
    "nodes": 1_000_000,  # keys and values of one file
    "aliases": 1_000,  # of one file
    "expanded-nodes": 100_000,  # nodes of one file after all aliases are expanded
    "expanded-text": 8 * 1024 * 1024,  # characters in them
    "suppressions": 1_000,  # suppression comments of one file
    "objects": 200_000,  # CRs of one run, one for each environment and instance, and Kubernetes objects
    "seconds": 600,  # of one run
    "revision-files": 50_000,  # files read from the base revision
    "revision-bytes": 512 * 1024 * 1024,  # in all of them
    "differences": 20_000,  # distinct changes of values in one comparison
    "difference-text": 32 * 1024 * 1024,  # characters of the values in them
    "replicas": 100_000,  # of one run, written out
    "written-text": 256 * 1024 * 1024,  # characters of YAML that one command prints
    "document-text": 32 * 1024 * 1024,  # characters of one document of YAML
    "command-words": 10_000,  # of one container, with its variables and the words of its shell strings
    "command-text": 2 * 1024 * 1024,  # characters in them; also the limit of Linux (ARG_MAX)
    "bases": 256,  # of one profile, with those of its bases
    "base-nodes": 500_000,  # values of the bases of one profile, counted again at each merge
    "extends-depth": 32,  # files that extend one another
    "instances": 1_000,  # of one profile, under all environments
    "instance-nodes": 2_000_000,  # values copied for all instances of one profile
    "expression-length": 1_000,  # characters
    "expression-depth": 20,  # nested operators
    "expression-result": 65_536,  # characters in the result of one expression
    "expression-results": 16 * 1024 * 1024,  # characters in all results of one profile, plus 16 for each
    "expressions": 2_000,  # different ones of one profile
    "cel-length": 16_384,  # characters of one CEL expression
    "cel-nodes": 500_000,  # nodes of one document passed to CEL
    "cel-text": 8 * 1024 * 1024,  # characters in them
    "cel-seconds": 10,  # for all expressions of one policy over one document
    "cel-bytes": 1024 * 1024 * 1024,  # of memory of the process that evaluates them
    "schema-visits": 10_000,  # of the schemas in one policy, for one value and its ancestors
    "pod-templates": 1_000,  # of one CR of a declared kind, and documents that it refers to
    "drawn": 2_000,  # boxes and lines in the graph of one job
}


def _parse_limits(text: str) -> dict[str, int]:
    """Parse PODPLAN_LIMITS.

    Raises ValueError: with a sentence for the user, if the text is invalid.
    """
    overrides = {}
    for assignment in filter(None, text.split(",")):
        name, _, value = (word.strip() for word in assignment.partition("="))
        if name not in LIMITS:
            raise ValueError(
                f'{LIMITS_VARIABLE}: there is no limit "{name[:40]}"; there are {", ".join(LIMITS)}'
            )
        if not (value.isascii() and value.isdigit() and 0 < len(value) <= 15 and int(value)):
            raise ValueError(
                f"{LIMITS_VARIABLE}: {name} is a number of at least 1, as in {name}={LIMITS[name]}"
            )
        overrides[name] = int(value)
    return overrides


LIMITS_ERROR = ""  # what is wrong with PODPLAN_LIMITS; the command line reports it
try:
    LIMITS |= _parse_limits(os.environ.get(LIMITS_VARIABLE, ""))
except ValueError as error:
    LIMITS_ERROR = str(error)

MAX_FILE_BYTES = min(LIMITS["file-bytes"], 2**30)  # reading allocates a buffer of this size plus one byte
MAX_DOCUMENTS = LIMITS["documents"]
MAX_NODES = LIMITS["nodes"]
MAX_ALIASES = LIMITS["aliases"]
MAX_EXPANDED_NODES = LIMITS["expanded-nodes"]
MAX_EXPANDED_TEXT = LIMITS["expanded-text"]
MAX_SUPPRESSIONS = LIMITS["suppressions"]
MAX_OBJECTS = LIMITS["objects"]
MAX_SECONDS = min(LIMITS["seconds"], 10**9)  # timers accept little more
MAX_REVISION_FILES = LIMITS["revision-files"]
MAX_REVISION_BYTES = LIMITS["revision-bytes"]
MAX_DIFFERENCES = LIMITS["differences"]
MAX_DIFFERENCE_TEXT = LIMITS["difference-text"]
MAX_EXPANDED_REPLICAS = LIMITS["replicas"]
MAX_OUTPUT_TEXT = LIMITS["written-text"]
MAX_DOCUMENT_TEXT = LIMITS["document-text"]
MAX_COMMAND_WORDS = LIMITS["command-words"]
MAX_COMMAND_TEXT = LIMITS["command-text"]
MAX_BASES = LIMITS["bases"]
MAX_BASE_NODES = LIMITS["base-nodes"]
MAX_EXTENDS_DEPTH = LIMITS["extends-depth"]
MAX_INSTANCES = LIMITS["instances"]
MAX_INSTANCE_NODES = LIMITS["instance-nodes"]
MAX_EXPRESSION_LENGTH = LIMITS["expression-length"]
MAX_EXPRESSION_DEPTH = LIMITS["expression-depth"]
MAX_EXPRESSION_RESULT = LIMITS["expression-result"]
MAX_TOTAL_EXPRESSION_RESULTS = LIMITS["expression-results"]
MAX_EXPRESSIONS = LIMITS["expressions"]
MAX_CEL_LENGTH = LIMITS["cel-length"]
MAX_CEL_NODES = LIMITS["cel-nodes"]
MAX_CEL_TEXT = LIMITS["cel-text"]
MAX_CEL_SECONDS = min(LIMITS["cel-seconds"], 10**9)
MAX_CEL_MEMORY = LIMITS["cel-bytes"]
MAX_SCHEMA_VISITS = LIMITS["schema-visits"]
MAX_POD_TEMPLATES = LIMITS["pod-templates"]
MAX_GRAPH_ELEMENTS = LIMITS["drawn"]

# Limits without a setting: recursion depth, and lengths at which lists are truncated with a note.
MAX_DEPTH = 100
EXPRESSION_BASE_COST = (
    16  # characters counted for each evaluation besides its result: an empty result takes time, too
)
MAX_RESOLVED_NODES = 50_000  # values of instances that are cached; further instances are resolved again
MAX_FILE_DIAGNOSTICS = 1_000  # reported for one file; the last one says that there are more
MAX_SEARCH_BYTES = 512 * 1024 * 1024  # searched in files that are too big to load
MAX_MESSAGE_BYTES = 64 * 1024 * 1024  # from an editor: a file with every character escaped
MAX_CEL_MESSAGE = 5_120  # of a messageExpression, as in the API server


class LimitExceeded(Exception):
    """A limit was exceeded; the message says by what, and what to do.

    ``file`` is the file that the message names, "" if it names none.
    """

    def __init__(self, message: str, file: str = "") -> None:
        super().__init__(message)
        self.file = file

    def with_file(self, file: str) -> LimitExceeded:
        """Return the error with ``file`` in front of the message, unless the message names it or ``file``
        is ""."""
        return self if file in ("", self.file) else LimitExceeded(f"{file}: {self}", file)


class RunTimeout(BaseException):
    """The run exceeded the time limit; a BaseException, so that no ``except Exception`` swallows it."""


def limit_exceeded(limit: str, message: str) -> str:
    """Return ``message``, about what exceeded ``limit``, with how to raise the limit."""
    return f"{message} (the limit {limit} is {LIMITS[limit]}; {LIMITS_VARIABLE}={limit}=N sets another)"
