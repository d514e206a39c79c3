"""Fast tests whether a text may contain a secret: most texts contain none.

Nothing is imported or compiled for them, because every run with a finding calls them.
"""

from __future__ import annotations

# In lower-case text, without the separators between the words of names.
_NAME_HINTS = (
    *("token", "pass", "pw", "secret", "cred", "authorization", "connectionstring", "bearer", "basic"),
    *("apikey", "accesskey", "privatekey", "accountkey", "authkey", "encryptionkey", "signingkey"),
    *("storagekey", "licensekey", "sshkey", "masterkey", "hmackey", "deploykey"),
    *("subscriptionkey", "sharedkey", "jwt", "webhook"),
    *("kagglekey", "wandbkey", "openaikey", "anthropickey", "huggingfacekey", "hfkey", "geminikey"),
    *("coherekey", "groqkey", "deepseekkey", "cometkey", "neptunekey", "ngckey", "azurekey", "datadogkey"),
    *("stripekey", "sendgridkey"),
    # Programs to which a password is given without a name, and keys in URLs.
    *("curl", "login", "rediscli", "mongo", "mysql", "mariadb", "mcalias", "hostadd", "sudos"),
    *("sig=", "signature=", "hooksslackcom", "webhooks"),
)
_TOKEN_PREFIXES = (
    "hf_",
    "gho_",
    "ghp_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xox",
    "sk-",
    "AIza",
    "eyJ",
)
_SEPARATORS = {ord(sign): None for sign in "_-./ \t"}


def may_hold_secret(text: str) -> bool:
    """Whether a text may contain a secret."""
    if may_hold_token(text) or "PRIVATE KEY" in text or ("://" in text and "@" in text):
        return True
    normalized = text.lower().translate(_SEPARATORS)
    return any(name in normalized for name in _NAME_HINTS)


def may_hold_token(text: str) -> bool:
    """Whether a text may contain a token of a well-known service."""
    return any(beginning in text for beginning in _TOKEN_PREFIXES)
