"""Names of variables, params, options and fields that contain secrets, in every common spelling.

A name is split into words (``AWS_SECRET_ACCESS_KEY``, ``wandb-api-key``, ``dbPassword``); the last words
decide.
"""

from __future__ import annotations

from functools import lru_cache

from podplan.core.lazy_regex import compile_lazily

# Between words: other characters, an upper-case letter after a lower-case one, the end of an acronym, digits.
_BOUNDARY = compile_lazily(
    r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
_MAX_NAME_LENGTH = 500  # characters; a longer text is no name
# Words without effect after the deciding word: DB_PASSWORD_PROD, tokenValue, TOKEN_BASE64.
_TRAILING_QUALIFIERS = " value base b plain plaintext prod production staging stage dev test "
_SECRET_WORDS = " secret secrets credential credentials creds authorization jwt "
# Also without a separator before them: PGPASSWORD, apikey.
_SECRET_SUFFIXES = (
    *("password", "passwords", "passwd", "passphrase", "passcode", "connectionstring", "clientsecret"),
    *("appsecret", "apikey", "apikeys", "accesskey", "accesskeys", "secretkey", "secretkeys"),
    *("privatekey", "privatekeys"),
)
# A token is a secret unless the word before it, also without a separator, says that it is a piece of text,
# or a number of such pieces: API_TOKEN, MYTOKEN, but not PAD_TOKEN.
_TEXT_TOKEN_WORDS = (
    " pad padding eos bos unk cls sep mask stop end start begin fim eot eod bot boi eoi boa eoa image video"
    " audio speech special space blank ignore text think max min num per first last next new sub prefix"
    " suffix vocab placeholder initializer modifier concept response instruction reasoning separator"
    " delimiter word char de pre "
)
# By the last word of a name: the words before it that make it a secret.
_SECRET_QUALIFIERS = {
    "tokens": " api auth access bearer refresh session secret hf wandb github gitlab git gh jwt oauth ",
    "key": (
        " api access secret private account auth encryption signing storage license ssh master hmac jwt"
        " deploy subscription shared"
        # Services; none whose keys may be names of objects or verbs, such as S3 and Replicate.
        " kaggle wandb openai anthropic huggingface hf gemini cohere groq deepseek comet neptune ngc azure"
        " datadog stripe sendgrid "
    ),
    "pass": (
        " db database smtp mysql postgres pg redis mongo rabbitmq ftp mail email ldap user admin root proxy"
        " http https basic auth git ssh my "
    ),
    "string": " connection ",
    "webhook": " slack discord teams mattermost ",
}
_SECRET_QUALIFIERS["keys"] = _SECRET_QUALIFIERS["key"]
_SECRET_QUALIFIERS["pw"] = _SECRET_QUALIFIERS["pass"]
# A field with this name refers to a Secret by name, unless the word before it names an owner.
_REFERENCE_WORDS = " secret secrets credential credentials "
_OWNER_WORDS = " client app consumer shared webhook api hmac signing oauth jwt token "


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a variable, param or option with this name usually contains a secret."""
    return _is_secret_phrase(_split_words(name))


@lru_cache(maxsize=4096)
def is_secret_field(name: str) -> bool:
    """Whether a field of an object with this name contains a secret; ``secret`` and ``imagePullSecrets``
    only name a Secret."""
    words = _split_words(name)
    if (
        words
        and _is_one_of(words[-1], _REFERENCE_WORDS)
        and not _is_one_of(_penultimate_word(words), _OWNER_WORDS)
    ):
        return False
    return _is_secret_phrase(words)


def _split_words(name: str) -> list[str]:
    """Return the words of a name in lower case, without trailing words that have no effect."""
    if len(name) > _MAX_NAME_LENGTH:
        return []
    words = [word.lower() for word in _BOUNDARY.split(name) if word]
    while len(words) > 1 and (words[-1].isdecimal() or _is_one_of(words[-1], _TRAILING_QUALIFIERS)):
        words.pop()
    return words[:-1] if words[-2:] == ["webhook", "url"] else words


def _penultimate_word(words: list[str]) -> str:
    return words[-2] if len(words) > 1 else ""


def _is_one_of(word: str, words: str) -> bool:
    """Whether a word is one of several; searching a text is faster than anything that must be compiled."""
    return f" {word} " in words and word != ""


def _is_secret_phrase(words: list[str]) -> bool:
    last, qualifier = words[-1] if words else "", _penultimate_word(words)
    if last.endswith("token"):
        return not _is_one_of(last.removesuffix("token") or qualifier, _TEXT_TOKEN_WORDS)
    if last == "pwd":
        return qualifier not in ("", "old")
    if last in _SECRET_QUALIFIERS:
        return _is_one_of(qualifier, _SECRET_QUALIFIERS[last])
    return _is_one_of(last, _SECRET_WORDS) or last.endswith(_SECRET_SUFFIXES)
