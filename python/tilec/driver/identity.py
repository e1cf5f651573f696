"""The identity of Python values across processes: a kernel that reads values of equal digests has one compile.

A function is identified by its text and code, and by the values of all names that it reads; an object by its class and
its attributes. What cannot be identified in this way raises Unidentified, so that the kernel is compiled again.
"""

from __future__ import annotations

import builtins
import enum
import functools
import os
import re
import struct
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tilec.ast_to_tile.source import Source, read
from tilec.ast_to_tile.source_text import text_of
from tilec.driver.free_names import free_names, identifiers
from tilec.errors import TilecError
from tilec.hashing import sha256
from tilec.language.kernel import Kernel

# Packages whose functions depend on their arguments only, and whose version is part of the fingerprint of the
# installation. Their objects are identified by name. tilec imports each, so that no file of the user has its name.
VERSIONED = frozenset(
    """tilec numpy ml_dtypes builtins math operator _operator functools _functools itertools enum dataclasses
    typing types abc _abc re copy contextlib inspect reprlib collections _collections""".split()
)
# Modules and functions of numpy whose results do not follow from their arguments.
_STATEFUL = frozenset({"random", "load", "fromfile", "memmap", "genfromtxt", "loadtxt"})
_STATEFUL_BUILTINS = frozenset(
    "eval exec compile globals locals vars dir __import__ open input id hash breakpoint".split()
)
# The methods that dataclasses generate use these; their results do not reach a kernel.
_OF_GENERATED_CODE = frozenset({"id", "hash"})
# Objects beyond this number make the identification slower than a compile.
MAXIMUM_OBJECTS = 20_000
_MAXIMUM_ARRAY_BYTES = 1 << 20
# Parts of a class that Python makes from the others.
_IMPLIED = frozenset(
    """__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ __annotate__ __annotate_func__
    __annotations_cache__ _abc_impl __firstlineno__ __static_attributes__""".split()
)
_DESCRIPTORS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)
_PLAIN = (type(None), bool, int, str, bytes, type(Ellipsis), type(NotImplemented))


class Unidentified(Exception):
    """A value has no identity across processes; the message names it."""


def digest(*values: object) -> str:
    """The digest of the identity of values, in hexadecimal; raises Unidentified."""
    identity = _Identity()
    try:
        for value in values:
            identity.add(value, "the kernel")
    except RecursionError:
        raise Unidentified("the values that the kernel reads are nested too deeply") from None
    return identity.hash.hexdigest()


class _Identity:
    """A walk over values that updates a hash; each object is visited once, then identified by its number."""

    def __init__(self) -> None:
        self.hash = sha256()
        # The objects are kept, so that no other object gets their address.
        self.seen: dict[int, tuple[int, object]] = {}

    def emit(self, *parts: str | int | bytes | None) -> None:
        self.hash.update(repr(parts).encode(errors="surrogatepass"))

    def add(self, value: Any, name: str) -> None:
        """Adds one value; `name` is its path, for messages."""
        kind = type(value)
        if kind in _PLAIN:
            self.emit(kind.__name__, repr(value))
        elif kind is float:
            self.emit("float", struct.pack("<d", value))
        elif id(value) in self.seen:
            self.emit("seen", self.seen[id(value)][0])
        else:
            if len(self.seen) >= MAXIMUM_OBJECTS:
                raise Unidentified(f"{name} refers to more than {MAXIMUM_OBJECTS} objects")
            self.seen[id(value)] = len(self.seen), value
            self.add_object(value, kind, name)

    def add_object(self, value: Any, kind: type, name: str) -> None:
        if kind in _RULES:
            _RULES[kind](self, value, name)
        elif isinstance(value, Kernel):
            self.add_kernel(value, name)
        elif isinstance(value, enum.Enum):
            self.add_enumerator(value, name)
        elif isinstance(value, type):
            self.add_class(value, name)
        elif kind.__module__ == "torch" and kind.__name__ == "dtype":
            self.emit("torch", str(value))
        elif _is_of_numpy(value):
            self.add_numpy(value, name)
        else:
            self.add_instance(value, name)

    def add_parts(self, kind: str, parts: Iterable[Any], name: str) -> None:
        """Adds an object that its kind and its parts determine."""
        listed = list(parts)
        self.emit(kind, len(listed))
        for part in listed:
            self.add(part, name)

    def add_kernel(self, value: Kernel, name: str) -> None:
        self.emit("kernel")
        for key, item in sorted(vars(value).items()):
            # What update_wrapper copies from the function, and the results of earlier compiles.
            if not key.startswith("__") and key != "compiled":
                self.emit(key)
                self.add(item, f"{name}.{key}")

    def add_mapping(self, value: Mapping[Any, Any], name: str) -> None:
        self.emit("mapping", len(value))
        for key, item in list(value.items()):
            self.add(key, name)
            self.add(item, f"{name}[{key!r}]" if isinstance(key, str | int) else name)

    def add_set(self, value: Iterable[Any], name: str) -> None:
        # The order of a set differs between processes.
        self.emit("set", *sorted(digest(item) for item in value))

    def add_class(self, value: type, name: str) -> None:
        self.emit("class", value.__module__, value.__qualname__)
        if is_versioned(value.__module__):
            return
        if not _is_python_class(value):
            raise Unidentified(f"{name} is the class {value.__qualname__}, which is not written in Python")
        self.add(type(value), name)
        self.add_parts("items", value.__bases__, name)
        for key, item in list(vars(value).items()):
            if key not in _IMPLIED:
                self.emit(key)
                self.add(item, f"{value.__qualname__}.{key}")

    def add_instance(self, value: Any, name: str) -> None:
        kind = type(value)
        if not all(_is_python_class(base) or base in _CONTAINERS for base in kind.__mro__ if base is not object):
            raise Unidentified(f"{name} is an object of type {kind.__module__}.{kind.__qualname__}")
        self.emit("object")
        self.add(kind, name)
        for base, content in _CONTAINERS.items():
            if isinstance(value, base):
                self.add(content(value), name)
        for key, item in _state(value):
            self.emit(key)
            self.add(item, f"{name}.{key}")

    def add_numpy(self, value: Any, name: str) -> None:
        dtype = getattr(value, "dtype", value)
        self.emit("numpy", type(value).__name__, str(dtype), dtype.str)
        if value is dtype:
            return
        if dtype.hasobject or value.nbytes > _MAXIMUM_ARRAY_BYTES:
            raise Unidentified(f"{name} is an array of {value.nbytes} bytes")
        self.emit(repr(value.shape), value.tobytes())

    def add_function(self, function: types.FunctionType, name: str) -> None:
        self.emit("function", function.__module__, function.__qualname__)
        self.add(function.__defaults__, name)
        self.add(function.__kwdefaults__, name)
        closure = _closure(function)
        self.emit(*closure)
        if is_versioned(str(function.__globals__.get("__name__"))):
            # A wrapper: the function that it wraps is in its closure.
            self.add_parts("items", closure.values(), name)
            return
        self.add_code(function.__code__, name)
        for path in sorted(self.names(function)):
            self.add_path(path, closure, function)
        for key, item in list(vars(function).items()):
            self.emit(key)
            self.add(item, f"{name}.{key}")

    def names(self, function: types.FunctionType) -> set[tuple[str, ...]]:
        """The names that a function reads; adds its text, because the compiler reads it."""
        source = _source(function)
        changed = f"the file of '{function.__qualname__}' has changed since it was imported"
        if source is None:
            if not text_of(function) and os.path.exists(function.__code__.co_filename):
                raise Unidentified(changed)
            # The code of exec, such as that of dataclasses: its names may be globals or attributes.
            return {(name,) for name in (*_code_names(function.__code__), *function.__code__.co_freevars)}
        if not _code_names(function.__code__) <= identifiers(source.node):
            raise Unidentified(changed)
        self.emit(source.file, *_lines(function, source))
        return free_names(source.node)

    def add_code(self, code: types.CodeType, name: str) -> None:
        self.emit(code.co_filename, code.co_firstlineno, code.co_flags, code.co_code, code.co_linetable)
        self.emit(*code.co_names, "of", *code.co_varnames, "of", *code.co_freevars, "of", *code.co_cellvars)
        self.add_parts("items", code.co_consts, name)

    def add_path(self, path: tuple[str, ...], closure: dict[str, object], function: types.FunctionType) -> None:
        name, *attributes = path
        shown = f"'{'.'.join(path)}', which '{function.__name__}' reads,"
        self.emit("name", *path)
        if name in closure:
            value = closure[name]
        elif name in function.__globals__:
            value = function.__globals__[name]
        elif hasattr(builtins, name):
            if name in _STATEFUL_BUILTINS - (frozenset() if _source(function) else _OF_GENERATED_CODE):
                raise Unidentified(f"{shown} can read anything")
            self.emit("builtin")
            return
        else:
            self.emit("missing")
            return
        self.add_attribute(value, attributes, shown)

    def add_attribute(self, value: Any, attributes: list[str], shown: str) -> None:
        """Adds the attribute of a module, or the whole value if it is not a module."""
        for position, attribute in enumerate(attributes):
            if not isinstance(value, types.ModuleType):
                break
            if is_versioned(value.__name__):
                self.emit(value.__name__, *attributes[position:])
                names = {*value.__name__.split("."), *attributes[position:]}
                if "numpy" in value.__name__ and _STATEFUL & names:
                    raise Unidentified(f"{shown} depends on more than its arguments")
                return
            if attribute not in vars(value) and hasattr(value, "__getattr__"):
                raise Unidentified(f"{shown} is computed by the module {value.__name__}")
            self.emit(value.__name__, "has" if attribute in vars(value) else "lacks")
            value = vars(value).get(attribute)
        self.add(value, shown)

    def add_module(self, value: types.ModuleType, name: str) -> None:
        if not is_versioned(value.__name__):
            raise Unidentified(f"{name} is the module {value.__name__}, whose attributes can change")
        self.emit("module", value.__name__)

    def add_builtin(self, value: Any, name: str) -> None:
        # The owner of a function is its module, that of a class method is the class.
        owner = value.__self__
        module = str(owner.__module__ if isinstance(owner, type) else value.__module__)
        if not (owner is None or isinstance(owner, types.ModuleType | type)) or not is_versioned(module):
            raise Unidentified(f"{name} is the built-in function {module}.{value.__qualname__}")
        self.emit("builtin", module, value.__qualname__)

    def add_enumerator(self, value: enum.Enum, name: str) -> None:
        self.emit("enumerator", value._name_)
        self.add(type(value), name)
        self.add(value._value_, name)


def is_versioned(module: str) -> bool:
    """Whether the package of a module is part of VERSIONED."""
    return module.partition(".")[0] in VERSIONED


def _is_of_numpy(value: object) -> bool:
    # An object of numpy exists only where numpy is loaded.
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic | numpy.ndarray | numpy.dtype)


# CPython's Py_TPFLAGS_HEAPTYPE and Py_TPFLAGS_IMMUTABLETYPE.
_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8


def _is_python_class(value: type) -> bool:
    """Whether a class statement made the class, so that its objects have no state beyond their attributes."""
    if value.__flags__ & (_HEAP_TYPE | _IMMUTABLE_TYPE) != _HEAP_TYPE:
        return False
    if {"__dict__", "__slots__"} & set(vars(value)):
        return True
    # A class of an extension with state of its own has larger objects than its base.
    return value.__base__ is None or value.__basicsize__ == value.__base__.__basicsize__


def _state(value: object) -> list[tuple[str, Any]]:
    """The attributes of an object: of its dictionary, and of the slots of its classes."""
    found = list(getattr(value, "__dict__", {}).items())
    for base in type(value).__mro__:
        for key, item in vars(base).items():
            if isinstance(item, types.MemberDescriptorType):
                try:
                    found.append((key, item.__get__(value)))
                except AttributeError:
                    found.append((key, "unassigned"))
    return found


def _closure(function: types.FunctionType) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def _code_names(code: types.CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*(_code_names(constant) for constant in inner))


def _source(function: types.FunctionType) -> Source | None:
    """The source of a function as the compiler reads it; None for code without text."""
    try:
        return read(function)
    except TilecError:
        return None


def _lines(function: types.FunctionType, source: Source) -> list[str]:
    lines = text_of(function).splitlines()
    first = min(function.__code__.co_firstlineno, source.node.lineno)
    return lines[first - 1 : source.node.end_lineno]


# Bases of user-defined classes whose content is not in their attributes.
_CONTAINERS: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    tuple: lambda value: tuple(tuple.__iter__(value)),
    list: lambda value: list(list.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
}


def _parts(kind: str, parts: Callable[[Any], Iterable[Any]]) -> Callable[[_Identity, Any, str], None]:
    return lambda identity, value, name: identity.add_parts(kind, parts(value), name)


def _named(identity: _Identity, value: Any, _name: str) -> None:
    identity.emit(type(value).__name__, value.__qualname__)


# The classes of Python whose objects are identified by the parts that these functions return.
_RULES: dict[type, Callable[[_Identity, Any, str], None]] = {
    tuple: _parts("tuple", iter),
    list: _parts("list", iter),
    dict: _Identity.add_mapping,
    types.MappingProxyType: _Identity.add_mapping,
    set: _Identity.add_set,
    frozenset: _Identity.add_set,
    complex: _parts("complex", lambda value: (value.real, value.imag)),
    range: _parts("range", lambda value: (value.start, value.stop, value.step)),
    slice: _parts("slice", lambda value: (value.start, value.stop, value.step)),
    types.FunctionType: _Identity.add_function,
    types.BuiltinFunctionType: _Identity.add_builtin,
    types.MethodType: _parts("method", lambda value: (value.__func__, value.__self__)),
    types.CodeType: _Identity.add_code,
    types.ModuleType: _Identity.add_module,
    types.SimpleNamespace: _parts("namespace", lambda value: (vars(value),)),
    types.GenericAlias: _parts("alias", lambda value: (value.__origin__, value.__args__)),
    types.UnionType: _parts("union", lambda value: value.__args__),
    TypeVar: _parts("variable", lambda value: (value.__name__,)),
    staticmethod: _parts("staticmethod", lambda value: (value.__func__,)),
    classmethod: _parts("classmethod", lambda value: (value.__func__,)),
    property: _parts("property", lambda value: (value.fget, value.fset, value.fdel)),
    functools.cached_property: _parts("cached_property", lambda value: (value.func, value.attrname)),
    functools.partial: _parts("partial", lambda value: (value.func, value.args, value.keywords)),
    type(functools.cache(lambda: None)): _parts("cached", lambda value: (value.__wrapped__,)),
    re.Pattern: _parts("pattern", lambda value: (value.pattern, value.flags)),
    **dict.fromkeys(_DESCRIPTORS, _named),
}
