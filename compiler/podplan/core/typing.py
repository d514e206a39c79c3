"""What annotations need of ``typing``, which costs a cold start more than reading a file does.

Annotations are never evaluated, so that at run time most names need to mean nothing. To type checkers each is
what it is called; ``NamedTuple`` has everything but the types of its fields at run time too.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO as IO
    from typing import Any as Any
    from typing import BinaryIO as BinaryIO
    from typing import Literal as Literal
    from typing import NamedTuple as NamedTuple
    from typing import NoReturn as NoReturn
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
    from typing import cast as cast
else:
    Any = IO = BinaryIO = Literal = NoReturn = Protocol = object

    def TypeVar(_name, **_):  # noqa: N802
        """An annotation, and so nothing."""

    def cast(_type, value):
        """The value."""
        return value

    class _Fields(type):
        """Makes a ``collections.namedtuple`` of a class with annotated fields."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.pop("__annotations__")
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Fields):
        """The base of classes with fields, as ``typing.NamedTuple``."""
