"""Whether a text deserves a closer look: most hold no secret, and that is seen without looking for any.

Nothing is imported or compiled for it, since every run with a finding asks.
"""

from __future__ import annotations

# In a text of small letters, without the signs between the words of names.
_NAMES = (
    *("token", "pass", "pwd", "secret", "cred", "authorization", "connectionstring", "bearer", "basic"),
    *("apikey", "accesskey", "privatekey", "accountkey", "authkey", "encryptionkey", "signingkey"),
    *("storagekey", "licensekey", "sshkey", "masterkey", "hmackey", "jwtkey", "deploykey"),
    *("subscriptionkey", "sharedkey"),
)
_TOKENS = ("hf_", "gho_", "ghp_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox", "sk-", "AIza", "eyJ")
_SIGNS = {ord(sign): None for sign in "_-./ \t"}


def may_hold_secret(text: str) -> bool:
    """Whether a text may hold a secret."""
    if may_hold_token(text) or "PRIVATE KEY" in text or ("://" in text and "@" in text):
        return True
    squeezed = text.lower().translate(_SIGNS)
    return any(name in squeezed for name in _NAMES)


def may_hold_token(text: str) -> bool:
    """Whether a text may hold a token of a well-known service."""
    return any(beginning in text for beginning in _TOKENS)
