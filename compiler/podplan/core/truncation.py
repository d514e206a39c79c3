"""Truncation of untrusted text in messages."""


def truncate(text: str, max_length: int) -> str:
    """Return ``text`` in at most ``max_length`` characters; a longer text ends with "…"."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
