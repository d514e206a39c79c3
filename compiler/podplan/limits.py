"""The bounds on what podplan is willing to read and to build, and the one error for reaching one.

Input comes from pull requests, so every step that could grow without end has a number here.
"""

MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_SEARCHED_BYTES = 512 * 1024 * 1024  # for a word that makes a file ours, where it is too big to be read
MAX_MESSAGE_BYTES = 64 * 1024 * 1024  # of an editor: a file, with every character escaped
MAX_DOCUMENTS = 10_000
MAX_DEPTH = 100
MAX_ALIASES = 1_000
MAX_EXPANDED_NODES = 100_000  # what all aliases of one file stand for, written out
MAX_FAULTS = 1_000  # listed of one file; a last one says that there are more
MAX_INSTANCES = 1_000
MAX_SUPPRESSIONS = 1_000  # comments of one file that silence findings
MAX_REPLICAS_WRITTEN_OUT = 100_000
MAX_EXTENDS_DEPTH = 32
MAX_BASES = 256
MAX_EXPRESSION_LENGTH = 1_000
MAX_EXPRESSION_DEPTH = 20
MAX_EXPRESSION_RESULT = 65_536  # characters that one expression may make
MAX_EXPRESSION_RESULTS_TOTAL = 16 * 1024 * 1024  # and all of one profile
MAX_EXPRESSIONS_COMPILED = 2_000
MAX_INSTANCE_NODES = 2_000_000  # values built anew for all instances of a profile
MAX_DRAWN = 2_000  # boxes and lines in the picture of one job
MAX_CEL_LENGTH = 16_384  # of one CEL expression
MAX_CEL_NODES = 500_000  # parts of one document that CEL is handed
MAX_CEL_TEXT = 8 * 1024 * 1024  # characters in them
MAX_CEL_MESSAGE = 5_120  # of a messageExpression, as in the API server
MAX_CEL_SECONDS = 10  # for all expressions of one policy over one document
MAX_CEL_MEMORY = 1024 * 1024 * 1024


class BoundExceeded(Exception):
    """A bound was reached; the message is a sentence that names the bound and what to do."""
