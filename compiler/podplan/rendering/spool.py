"""A compressed buffer for text that is printed or written when it is complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.limits import MAX_OUTPUT_TEXT, LimitExceeded, limit_exceeded

_LEVEL = 1  # of zlib: the fastest
_PIECE = 1024 * 1024  # bytes that are compressed together


class Spool:
    """Texts in the order in which they were added, as bytes of UTF-8.

    A byte of a file name that is not UTF-8 becomes ``\\udcff``, which JSON decodes to the original.
    """

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._open = bytearray()
        self._room = MAX_OUTPUT_TEXT

    def add(self, text: str) -> None:
        """Append a text. Raises LimitExceeded: if the total is too long."""
        self._room -= len(text)
        if self._room < 0:
            raise too_much()
        self._open += text.encode("utf-8", "backslashreplace")
        if len(self._open) >= _PIECE:
            from zlib import compress

            self._packed.append(compress(self._open, _LEVEL))
            self._open.clear()

    def __iter__(self) -> Iterator[bytes]:
        if self._packed:
            from zlib import decompress

            yield from map(decompress, self._packed)
        yield bytes(self._open)

    def text(self) -> str:
        """Return all texts as one."""
        return b"".join(self).decode()


class Texts(Mapping[str, str]):
    """Texts by name, such as those of the files of a folder."""

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}
        self._room = MAX_OUTPUT_TEXT

    def add(self, name: str, text: str) -> None:
        """Add a text under a new name. Raises LimitExceeded: if the total is too long."""
        from zlib import compress

        self._room -= len(text)
        if self._room < 0:
            raise too_much()
        self._packed[name] = compress(text.encode("utf-8", "surrogatepass"), _LEVEL)

    def __getitem__(self, name: str) -> str:
        from zlib import decompress

        return decompress(self._packed[name]).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def too_much() -> LimitExceeded:
    """Return the error for too much text to print or write."""
    message = f"this is more than {MAX_OUTPUT_TEXT:,} characters of YAML"
    return LimitExceeded(limit_exceeded("written-text", f"{message}; ask for fewer jobs at once, or --fold"))
