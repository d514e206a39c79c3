"""What annotations need of ``typing``, which costs a cold start more than reading a file does.

Annotations are never evaluated, so that at run time most names need to mean nothing. To type checkers each is
what it is called; ``NamedTuple`` has everything but the types of its fields at run time too.
"""

from __future__ import annotations

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

    from collections import _tuplegetter
    from functools import cache
    from types import FunctionType

    @cache
    def _constructor(size):
        """The code of a constructor with so many arguments, whose names are numbers; compiling it is slow."""
        names = "".join(f"_{number}, " for number in range(size))
        return eval(f"lambda _cls, {names}: _new(_cls, ({names}))").__code__

    class _Record(tuple):
        """What ``collections.namedtuple`` makes anew for each class, and every start would pay for."""

        __slots__ = ()

        def __new__(cls, *values, **named):
            """Makes the constructor when it is first called: a run has no records of many classes."""
            code = _constructor(len(cls._fields)).replace(co_varnames=("_cls", *cls._fields))
            defaults = tuple(cls._field_defaults.values())
            cls.__new__ = make = FunctionType(code, {"_new": tuple.__new__}, "__new__", defaults)
            return make(cls, *values, **named)

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **named):
            made = self._make(map(named.pop, self._fields, self))
            if named:
                raise ValueError(f"Got unexpected field names: {list(named)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self):
            return tuple(self)

    class _Fields(type):
        """Makes a record of a class with annotated fields."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.pop("__annotations__"))
            defaults = {field: body[field] for field in fields if field in body}
            body |= {field: _tuplegetter(index, None) for index, field in enumerate(fields)}
            body |= {
                "_fields": fields,
                "_field_defaults": defaults,
                "__match_args__": fields,
                "__slots__": (),
            }
            return type(name, (_Record,), body)

    class NamedTuple(metaclass=_Fields):
        """The base of classes with fields, as ``typing.NamedTuple``."""
