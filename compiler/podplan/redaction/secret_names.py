"""Names of variables, params, options and fields that hold secrets, in every common spelling.

A name is split into words (``AWS_SECRET_ACCESS_KEY``, ``wandb-api-key``, ``dbPassword``); the last of them
decide.
"""

from __future__ import annotations

from functools import lru_cache

from podplan.core.lazy_regex import pattern

# Between words: other characters, an upper-case letter after a lower-case one, the end of an acronym, digits.
_BOUNDARY = pattern(
    r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
_LONGEST_NAME = 500  # characters; a longer text is no name
# Words after the one that decides which change nothing: DB_PASSWORD_PROD, tokenValue, TOKEN_BASE64.
_QUALIFIERS = " value base b plain plaintext prod production staging stage dev test "
_SECRETS = " secret secrets credential credentials creds authorization "
# Also without a separator before them: PGPASSWORD, apikey.
_ENDINGS = (
    *("password", "passwords", "passwd", "passphrase", "passcode", "connectionstring", "clientsecret"),
    *("appsecret", "apikey", "apikeys", "accesskey", "accesskeys", "secretkey", "secretkeys"),
    *("privatekey", "privatekeys", "authtoken", "accesstoken", "apitoken", "hftoken", "refreshtoken"),
    *("bearertoken", "sessiontoken", "secrettoken", "githubtoken", "gitlabtoken", "wandbtoken"),
)
# A token is a secret unless the word before it says that it is a piece of text, or a count of such pieces.
_PIECES_OF_TEXT = (
    " pad padding eos bos unk cls sep mask stop end start begin fim eot eod bot boi eoi boa eoa image video"
    " audio speech special space blank ignore text think max min num per first last next new sub prefix"
    " suffix vocab placeholder initializer modifier concept response instruction reasoning separator"
    " delimiter "
)
# What others are secrets of, by their last word.
_OWNERS = {
    "tokens": " api auth access bearer refresh session secret hf wandb github gitlab git gh jwt oauth ",
    "key": (
        " api access secret private account auth encryption signing storage license ssh master hmac jwt"
        " deploy subscription shared "
    ),
    "pass": (
        " db database smtp mysql postgres pg redis mongo rabbitmq ftp mail email ldap user admin root proxy"
        " http https basic auth git ssh "
    ),
    "string": " connection ",
}
_OWNERS["keys"] = _OWNERS["key"]
# A field of this name refers to a Secret by name, unless the word before says whose secret it is.
_REFERENCES = " secret secrets credential credentials "
_OWN_SECRETS = " client app consumer shared webhook api hmac signing oauth jwt token "


@lru_cache(maxsize=4096)
def names_secret(name: str) -> bool:
    """Whether a variable, param or option of this name usually holds a secret."""
    return _holds_secret(_words(name))


@lru_cache(maxsize=4096)
def field_names_secret(name: str) -> bool:
    """The same for a field of an object, where ``secret`` or ``imagePullSecrets`` name a Secret."""
    words = _words(name)
    if words and _is_in(words[-1], _REFERENCES) and not _is_in(_before_last(words), _OWN_SECRETS):
        return False
    return _holds_secret(words)


def _words(name: str) -> list[str]:
    """The words of a name in lower case, without those at its end that change nothing."""
    if len(name) > _LONGEST_NAME:
        return []
    words = [word.lower() for word in _BOUNDARY.split(name) if word]
    while len(words) > 1 and (words[-1].isdecimal() or _is_in(words[-1], _QUALIFIERS)):
        words.pop()
    return words


def _before_last(words: list[str]) -> str:
    return words[-2] if len(words) > 1 else ""


def _is_in(word: str, words: str) -> bool:
    """Whether a word is one of several, which is seen faster in a text than with anything compiled."""
    return f" {word} " in words and word != ""


def _holds_secret(words: list[str]) -> bool:
    last, before = words[-1] if words else "", _before_last(words)
    if last == "token":
        return not _is_in(before, _PIECES_OF_TEXT)
    if last == "pwd":
        return before not in ("", "old")
    if last in _OWNERS:
        return _is_in(before, _OWNERS[last])
    return _is_in(last, _SECRETS) or last.endswith(_ENDINGS)
