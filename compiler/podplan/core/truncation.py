"""What a message repeats of a text that somebody wrote, and that may have megabytes."""


def shortened(text: str, longest: int) -> str:
    """``text`` in at most ``longest`` characters: where it has more, its beginning and "…"."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
