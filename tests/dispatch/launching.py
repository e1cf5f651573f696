"""Arrays, kernels without code, and what the null driver recorded, for programs of the tests of native launches."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import tilec as ct
from tilec.driver import kernel_launch
from tilec.frozen import replace
from tilec.runtime.arguments.arguments import ArrayArgument, ListArgument, ScalarArgument
from tilec.runtime.arguments.elements import parameter_dtype
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.metadata import Metadata, TensorMapParameter, TensorMapTableParameter, ValueParameter
from tilec.runtime.launch.launch_plan import leaves
from tilec.runtime.tensor_maps.expression import Operation, Parameter
from tilec.runtime.tensor_maps.tensor_map import Recipe
from tilec.signature import Signature

driver = ctypes.CDLL("libcuda.so.1")
# The bytes of elements by name.
SIZES = {"i1": 1, "i8": 1, "u8": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "f64": 8}
MAP_BYTES = 128
ADDRESS_BYTES = 8
MOST_PARAMETERS = 128


class Interface:
    """An array in device memory, by `__cuda_array_interface__` with strides in elements."""

    def __init__(self, address: int, shape: tuple[int, ...], typestr: str = "<f4", strides: Any = None) -> None:
        size = int(typestr[2:])
        in_bytes = None if strides is None else tuple(size * stride for stride in strides)
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "typestr": typestr,
            "strides": in_bytes,
        }


class Property:
    """The same array, by a property that builds its dictionary."""

    def __init__(self, *given: Any) -> None:
        self.given = given

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return Interface(*self.given).__cuda_array_interface__


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


# dlpack.h: kDLInt 0, kDLUInt 1, kDLFloat 2, kDLBfloat 4, kDLBool 6; kDLCUDA 2.
_CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "b": 6}
CUDA = 2
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Capsule:
    """An array in device memory by `__dlpack__`; `typestr` "<V2" is bfloat16."""

    def __init__(self, address: int, shape: tuple[int, ...], typestr: str = "<f4", strides: Any = None) -> None:
        extents = (ctypes.c_int64 * len(shape))(*shape)
        steps = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        self.tensor = _Tensor(
            address - 64,
            CUDA,
            (address >> 40) & 15,
            len(shape),
            _CODES[typestr[1]],
            8 * int(typestr[2:]),
            1,
            extents,
            steps,
            64,
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.tensor.device_id

    def __dlpack__(self, stream: int | None = None) -> Any:
        assert stream == -1
        return _new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)


class _Table(ctypes.Structure):
    """DLPackExchangeAPI of dlpack.h 1.3."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("unused", ctypes.c_void_p * 3),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))),
        (
            "current_stream",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)),
        ),
    ]


def _borrow(array: Any, tensor: Any) -> int:
    tensor[0] = array.tensor
    return 0


def _current_stream(_type: int, _ordinal: int, stream: Any) -> int:
    stream[0] = 0x50
    return 0


_functions = dict(_Table._fields_)
_table = _Table(1, 3, None, (None,) * 3, _functions["borrow"](_borrow), _functions["current_stream"](_current_stream))


class Exchange(Capsule):
    """The same array, by the C exchange of DLPack."""

    __dlpack_c_exchange_api__ = _new_capsule(ctypes.addressof(_table), b"dlpack_exchange_api", None)


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int * 16)]


class _Record(ctypes.Structure):
    """Record of null_driver.c."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("attribute_count", ctypes.c_uint),
        ("stream", ctypes.c_uint64),
        ("function", ctypes.c_uint64),
        ("context", ctypes.c_uint64),
        ("attributes", _Attribute * 4),
        ("parameters", ctypes.c_ubyte * MAP_BYTES * MOST_PARAMETERS),
        ("launches", ctypes.c_uint64),
        ("copied", ctypes.c_uint64),
        ("allocations", ctypes.c_uint64),
    ]


driver.record_last.restype = ctypes.POINTER(_Record)
for name in ("record_loads", "record_encodings", "record_pointer_queries"):
    getattr(driver, name).restype = ctypes.c_uint64


@dataclass(frozen=True)
class Launched:
    """What the driver was called with."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    stream: int
    function: int
    context: int
    attributes: tuple[tuple[int, tuple[int, ...]], ...]
    parameters: tuple[bytes, ...]
    # A hash of the tables of lists, and how many of them are still allocated.
    copied: int
    allocations: int


def launches() -> int:
    """The launches of this thread that the driver recorded."""
    return driver.record_last().contents.launches


def last(sizes: list[int]) -> Launched:
    """The last launch of this thread, of a kernel with parameters of these sizes."""
    found = driver.record_last().contents
    attributes = tuple((a.id, tuple(a.value[:3])) for a in found.attributes[: found.attribute_count])
    parameters = tuple(bytes(found.parameters[index][:size]) for index, size in enumerate(sizes))
    return Launched(
        tuple(found.grid),
        tuple(found.block),
        found.shared_bytes,
        found.stream,
        found.function,
        found.context,
        attributes,
        parameters,
        found.copied,
        found.allocations,
    )


def record(sizes: list[int]) -> None:
    """Makes the driver record launches of a kernel with parameters of these sizes."""
    driver.record_parameters(len(sizes), (ctypes.c_int * len(sizes))(*sizes))


def metadata_of(
    signature: Signature, target: str = "sm_100a", *, maps_of_lists: bool = False, **fields: Any
) -> Metadata:
    """Metadata of a kernel that takes every entry argument, and a tensor map of each array that allows one.

    With `maps_of_lists` also one of each array of a list.
    """
    values: list[ValueParameter] = []
    recipes: list[Recipe] = []
    for argument in leaves(signature):
        if isinstance(argument, ListArgument):
            if maps_of_lists and _has_map(argument.element):
                recipes.append(replace(_recipe(argument.element, 0), list=len(values)))
            names = argument.value_names()
            values.extend(map(ValueParameter, ("u64", "s32"), names))
        elif isinstance(argument, ArrayArgument):
            if _has_map(argument):
                recipes.append(_recipe(argument, len(values)))
            names = argument.value_names()
            extents = "s64" if argument.index == "i64" else "s32"
            values.extend(ValueParameter("u64" if name == argument.name else extents, name) for name in names)
        else:
            values.append(ValueParameter(_parameter_type(argument), argument.name))
    maps = [
        TensorMapParameter(index) if recipe.list is None else TensorMapTableParameter(index)
        for index, recipe in enumerate(recipes)
    ]
    return Metadata("entry", target, signature.arguments, (*values, *maps), tuple(recipes), (128, 1, 1), **fields)


def _parameter_type(argument: ScalarArgument) -> str:
    element = argument.element
    return {"i1": "u8"}.get(element, element.replace("i", "s") if element[0] == "i" else element)


def _has_map(argument: ArrayArgument) -> bool:
    """Whether the address and the strides are known to be multiples of 16 bytes, and no stride to be 0."""
    per = 16 // SIZES[argument.element]
    *outer, last_stride = argument.strides or (None,)
    divisible = all(divisor % per == 0 for divisor in argument.stride_divisors[:-1])
    is_aligned = argument.alignment == 16 and last_stride == 1 and divisible
    return argument.rank in (2, 3) and is_aligned and None in outer and 0 not in outer


def _recipe(argument: ArrayArgument, first: int) -> Recipe:
    size, rank = SIZES[argument.element], argument.rank
    return Recipe(
        base=Parameter(first),
        element=argument.element,
        extents=tuple(Parameter(first + 1 + axis) for axis in reversed(range(rank))),
        strides=tuple(Operation("mul", Parameter(first + 1 + rank + axis), size) for axis in reversed(range(rank - 1))),
        box=(16 // size, *(8 for _ in range(rank - 1))),
        element_strides=(1,) * rank,
    )


def sizes_of(metadata: Metadata) -> list[int]:
    """The sizes of the parameters in bytes."""
    return [
        parameter_dtype(parameter.type).itemsize
        if isinstance(parameter, ValueParameter)
        else MAP_BYTES
        if isinstance(parameter, TensorMapParameter)
        else ADDRESS_BYTES
        for parameter in metadata.parameters
    ]


@dataclass(frozen=True)
class WithoutCode:
    """Stands for a compiled kernel."""

    artifact: Artifact


compiles: list[str] = []


def replace_compiler(**fields: Any) -> None:
    """Makes launches use artifacts with the metadata of `metadata_of`, which need no compiler."""
    known: dict[str, WithoutCode] = {}

    def specialized(kernel: Any, backend: str, args: Any, *, target: Any = None, hints: Any = None) -> Any:
        signature = Signature.from_arguments(kernel, args)
        if str(signature) not in known:
            compiles.append(str(signature))
            metadata = metadata_of(signature, **fields)
            known[str(signature)] = WithoutCode(Artifact(metadata, cubin=b"\x7fELF" + str(signature).encode()))
        record(sizes_of(known[str(signature)].artifact.metadata))
        return known[str(signature)]

    def run(compiled: Any, grid: Any, args: Any, *, backend: str, stream: Any, **settings: Any) -> None:
        from tilec.runtime.launch.launch import launch

        launch(compiled.artifact, grid, args, stream, **settings)

    kernel_launch.specialized = specialized
    kernel_launch.run = run


def by_python(stream: Any, grid: Any, kernel: Any, args: Any, **keywords: Any) -> Any:
    """The launch on the Python path, or the error that it raises."""
    return _outcome(kernel_launch._launch, stream, grid, kernel, args, keywords)


def by_native(stream: Any, grid: Any, kernel: Any, args: Any, **keywords: Any) -> Any:
    """The launch by ct.launch, or the error that it raises."""
    return _outcome(ct.launch, stream, grid, kernel, args, keywords)


def _outcome(function: Any, stream: Any, grid: Any, kernel: Any, args: Any, keywords: dict[str, Any]) -> Any:
    before = launches()
    try:
        function(stream, grid, kernel, args, **keywords)
    except Exception as error:
        return type(error), str(error)
    if launches() == before:
        return "nothing launched"
    metadata = kernel_launch.specialized(kernel, "launch", args).artifact.metadata
    return last(sizes_of(metadata))
