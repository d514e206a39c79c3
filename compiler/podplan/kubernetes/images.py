"""Image references, as the kubelet and container runtimes parse them.

The grammar is that of https://pkg.go.dev/github.com/distribution/reference. The API server accepts any text
without surrounding blanks; the kubelet leaves a Pod with an invalid reference in InvalidImageName
(https://kubernetes.io/docs/concepts/containers/images/#image-names).
"""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily

MAX_NAME = 255
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = compile_lazily(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_LABEL = r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])"
_DOMAIN = compile_lazily(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[A-Fa-f0-9:]+)\])(?::[0-9]+)?")
_TAG = compile_lazily(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_IDENTIFIER_LENGTH, _HEXADECIMAL = 64, frozenset("0123456789abcdef")
_PLACEHOLDER = compile_lazily(r"<[^<>]{1,60}>")
_SCHEME = compile_lazily(r"[A-Za-z][A-Za-z0-9+.-]*://")


def fault(image: str) -> str:
    """Return why an image reference is invalid, as the end of a sentence; "" if it is valid."""
    scheme = _SCHEME.match(image) if "://" in image else None
    if scheme is not None:
        return f"begins with the scheme {scheme[0]}, which a reference does not have"
    placeholder = _PLACEHOLDER.search(image) if "<" in image else None
    if placeholder is not None:
        return f"has the placeholder {placeholder[0]} in it"
    if image != image.strip():
        return "has blanks around it"
    if any(character.isspace() for character in image):
        return "has a blank in it"
    if len(image) == _IDENTIFIER_LENGTH and _HEXADECIMAL.issuperset(image):
        return "is an id of 64 hexadecimal digits, and not a name"
    rest, at, digest = image.partition("@")
    if at and (wrong := _digest_fault(digest)):
        return wrong
    domain, path = _split_domain(rest)
    path, colon, tag = path.partition(":")
    if domain and not _DOMAIN.fullmatch(domain):
        return f'has "{domain}" in the place of a registry'
    if path.lower() != path:
        return f'has upper-case letters in its repository, "{path}"'
    if not _PATH.fullmatch(path):
        return _path_fault(f"{domain}/{path}" if domain else path, path, tag)
    if colon and not _TAG.fullmatch(tag):
        return _tag_fault(tag)
    if len(path) > MAX_NAME:
        return f"has a repository of more than {MAX_NAME} characters"
    return ""


def _split_domain(name: str) -> tuple[str, str]:
    """Split off the registry; a lower-case first part without a dot or a colon is no registry."""
    first, slash, rest = name.partition("/")
    is_domain = slash and ("." in first or ":" in first or first == "localhost" or first.lower() != first)
    return (first, rest) if is_domain else ("", name)


def _digest_fault(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    if len(value) == _DIGEST_LENGTHS.get(algorithm) and _HEXADECIMAL.issuperset(value):
        return ""
    return (
        f'has "{digest[:80]}" behind the "@", which is no digest such as sha256: with 64 hexadecimal digits'
    )


def _path_fault(name: str, path: str, tag: str) -> str:
    if not path:
        return "has no repository"
    if path.endswith("/"):
        return 'ends with "/"' if not tag else 'has a "/" before its tag'
    if "//" in name:
        return 'has "//" in it'
    return f'has "{path}" in the place of a repository'


def _tag_fault(tag: str) -> str:
    if not tag:
        return 'ends with ":" and no tag'
    if ":" in tag:
        return "has more than one tag"
    return f'has "{tag[:80]}" in the place of a tag'
