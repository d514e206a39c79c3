"""Names of variables, params, options and fields that hold secrets, in every common spelling.

A name is split into words (``AWS_SECRET_ACCESS_KEY``, ``wandb-api-key``, ``dbPassword``); the last of them
decide.
"""

from __future__ import annotations

from functools import lru_cache

from podplan.patterns import pattern

# Between words: other characters, an upper-case letter after a lower-case one, the end of an acronym, digits.
_BOUNDARY = pattern(
    r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
_LONGEST_NAME = 500  # characters; a longer text is no name
# Words after the one that decides which change nothing: DB_PASSWORD_PROD, tokenValue, API_KEY_2.
_QUALIFIER = pattern(r"value|base|b|plain|plaintext|prod|production|staging|stage|dev|test|[0-9]+")
# Also without a separator before it: PGPASSWORD, apikey.
_SECRET = pattern(
    r"secrets?|credentials?|creds|authorization|.*(?:passwords?|passwd|passphrase|passcode|connectionstring"
    r"|(?:api|access|secret|private)keys?|(?:client|app)secret"
    r"|(?:auth|access|api|hf|refresh|bearer|session|secret|github|gitlab|wandb)token)"
)
# A token is a secret unless the word before it says that it is a piece of text, or a count of such pieces.
_PIECE_OF_TEXT = pattern(
    r"pad|eos|bos|unk|cls|sep|mask|stop|end|start|begin|fim|eot|eod|bot|boi|eoi|boa|eoa|image|video|audio|speech"
    r"|special|space|blank|ignore|text|think|max|min|num|per|first|last|next|new|sub|prefix|suffix|vocab"
)
_OF_TOKENS = pattern(
    r"api|auth|access|bearer|refresh|session|secret|hf|wandb|github|gitlab|git|gh|jwt|oauth|service"
)
_OF_KEY = pattern(
    r"api|access|secret|private|account|auth|encryption|signing|storage|license|ssh|master|hmac|jwt|deploy"
    r"|subscription|shared"
)
_OF_PASS = pattern(
    r"db|database|smtp|mysql|postgres|pg|redis|mongo|rabbitmq|ftp|mail|email|ldap|user|admin|root|proxy|https?"
    r"|basic|auth|git|ssh"
)
# A field of this name refers to a Secret by name, unless the word before says whose secret it is.
_REFERENCE = pattern(r"secrets?|credentials?")
_OF_SECRET = pattern(r"client|app|consumer|shared|webhook|api|hmac|signing|oauth|jwt|token")


@lru_cache(maxsize=4096)
def names_secret(name: str) -> bool:
    """Whether a variable, param or option of this name usually holds a secret."""
    return _holds_secret(_words(name))


@lru_cache(maxsize=4096)
def field_names_secret(name: str) -> bool:
    """The same for a field of an object, where ``secret`` or ``imagePullSecrets`` name a Secret."""
    words = _words(name)
    if words and _REFERENCE.fullmatch(words[-1]) and not _OF_SECRET.fullmatch(_before_last(words)):
        return False
    return _holds_secret(words)


def _words(name: str) -> list[str]:
    """The words of a name in lower case, without those at its end that change nothing."""
    if len(name) > _LONGEST_NAME:
        return []
    words = [word.lower() for word in _BOUNDARY.split(name) if word]
    while len(words) > 1 and _QUALIFIER.fullmatch(words[-1]):
        words.pop()
    return words


def _before_last(words: list[str]) -> str:
    return words[-2] if len(words) > 1 else ""


def _holds_secret(words: list[str]) -> bool:
    last, before = words[-1] if words else "", _before_last(words)
    if last == "token":
        return _PIECE_OF_TEXT.fullmatch(before) is None
    if last == "pwd":
        return before not in ("", "old")
    owners = {"tokens": _OF_TOKENS, "key": _OF_KEY, "keys": _OF_KEY, "pass": _OF_PASS}.get(last, _SECRET)
    if owners is not _SECRET:
        return owners.fullmatch(before) is not None
    return _SECRET.fullmatch(last) is not None or (before, last) == ("connection", "string")
