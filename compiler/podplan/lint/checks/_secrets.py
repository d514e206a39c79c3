"""Names and values that look like secrets."""

from __future__ import annotations

import re

# HF_TOKEN, WANDB_API_KEY, DB_PASSWORD; not PAD_TOKEN, MAX_TOKENS, SORT_KEY or AWS_ACCESS_KEY_ID.
_NAME = re.compile(
    r"(?:.*[_-])?(?:(?<!PAD_)(?<!EOS_)(?<!BOS_)(?<!UNK_)(?<!CLS_)(?<!SEP_)(?<!MASK_)(?<!STOP_)(?<!END_)TOKEN"
    r"|PASS(?:WORD|WD|PHRASE)|SECRET|CREDENTIALS?"
    r"|(?:API|ACCESS|SECRET|PRIVATE|ACCOUNT|AUTH|ENCRYPTION|SIGNING|STORAGE|LICENSE)[_-]?KEY)",
    re.IGNORECASE,
)
_WITH_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s:@$]{3,}@", re.IGNORECASE)
_NOT_A_SECRET = re.compile(
    r"true|false|none|null|yes|no|[0-9.]+|[<\[{(].*|/.*|[A-Z]:\\.*|\$.*|\S+\.(?:json|pem|key|crt|txt|ya?ml)",
    re.DOTALL | re.IGNORECASE,
)


def names_a_secret(name: str) -> bool:
    """Whether a variable or option of this name usually holds a secret."""
    return _NAME.fullmatch(name.lstrip("-")) is not None


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret as text: not a path, a number, a reference or a placeholder."""
    if _WITH_PASSWORD.search(value):
        return True
    return names_a_secret(name) and len(value) >= 6 and not _NOT_A_SECRET.fullmatch(value)
