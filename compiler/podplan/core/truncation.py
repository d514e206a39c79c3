"""What a message repeats of a text that somebody wrote, and that may have megabytes."""


def truncate(text: str, max_length: int) -> str:
    """``text`` in at most ``longest`` characters: where it has more, its beginning and "…"."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
