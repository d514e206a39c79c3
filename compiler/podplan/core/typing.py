"""Names for annotations without importing ``typing``, which takes longer at start-up than reading a file.

Annotations are never evaluated, so at run time most names need no meaning. Type checkers see the names of the
standard library; ``NamedTuple`` also works at run time, except for the types of its fields.
"""

from __future__ import annotations

from collections import namedtuple
from types import FunctionType

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
        """Return nothing useful: annotations are not evaluated."""

    def cast(_type, value):
        """Return ``value``."""
        return value

    # collections.namedtuple takes 200 µs per class, most of it to compile ``__new__``. Here one ``__new__``
    # is compiled for each number of fields, and a class takes 12 µs: a cold check creates 170, a tenth of its
    # time.
    _MAX_FIELDS = 64
    _widest = namedtuple("_widest", [f"f{number}" for number in range(_MAX_FIELDS)])
    _GETTERS = [vars(_widest)[field] for field in _widest._fields]
    _constructors = {}

    def _build_constructor(fields, defaults):
        count = len(fields)
        if count not in _constructors:
            values = "".join(f"f{number}, " for number in range(count))
            _constructors[count] = eval(f"lambda _cls, {values}: new(_cls, ({values}))").__code__
        code = _constructors[count].replace(co_varnames=("_cls", *fields), co_name="__new__")
        return FunctionType(code, {"new": tuple.__new__}, "__new__", tuple(defaults))

    class _Record(tuple):
        __slots__ = ()
        _fields = ()

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(made)}")
            return made

        def _replace(self, /, **changes):
            replaced = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"{type(self).__name__} has no field {', '.join(changes)}")
            return replaced

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            values = ", ".join(f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self):
            return tuple(self)

    class _Fields(type):
        """Metaclass that turns a class with annotated fields into a named tuple."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.pop("__annotations__"))
            defaults = {field: body.pop(field) for field in fields if field in body}
            body |= zip(fields, _GETTERS)  # noqa: B905
            body |= {"__slots__": (), "_fields": fields, "__match_args__": fields}
            body |= {"_field_defaults": defaults, "__new__": _build_constructor(fields, defaults.values())}
            return type(name, (_Record,), body)

    class NamedTuple(metaclass=_Fields):
        """Base of classes with fields, as ``typing.NamedTuple``."""
