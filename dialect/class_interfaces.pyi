"""The members of dialects and their operation classes as a type checker sees them.

The real base classes derive from those of the MLIR bindings, which have no type information: a checker would accept
every misspelt member of an operation. The fields of an operation come from its annotations.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tilec.dialect.fields import AttributeField, Field, RegionField, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.verify import OperationVerifier

class Operation:
    """What MLIR's OpView and `tilec.dialect.operation.operation_base` give every operation class."""

    OPERATION_NAME: ClassVar[str]
    _traits: ClassVar[Sequence[type]]
    _fields: ClassVar[Sequence[Any]]
    _dialect_obj: ClassVar[type[Dialect]]
    _op_name: ClassVar[str]
    _generate_class_attributes: ClassVar[Callable[[str, str, Sequence[Any]], None]]
    fields: ClassVar[tuple[Field, ...]]
    operand_fields: ClassVar[tuple[ValueField, ...]]
    result_fields: ClassVar[tuple[ValueField, ...]]
    attribute_fields: ClassVar[dict[str, AttributeField]]
    region_fields: ClassVar[tuple[RegionField, ...]]
    rules: ClassVar[Sequence[Callable[[ir.OpView], str | None]]]
    assembly: ClassVar[str]
    opcode: ClassVar[int | None]
    since: ClassVar[str]
    preview: ClassVar[bool]
    discardable_attributes: ClassVar[bool]
    spelled_name: ClassVar[str]
    verifier: ClassVar[OperationVerifier]
    verify_region_invariants: ClassVar[object]
    # A function of operand types and attributes that returns the result types, or None.
    result_types: Any

    operation: ir.Operation
    operands: Sequence[ir.Value]
    # Operations with a field of this name give it the field's type.
    results: Any
    result: ir.Value
    regions: Sequence[ir.Region]
    attributes: ir.OpAttributeMap
    location: ir.Location
    parent: ir.Operation
    context: ir.Context

    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        traits: Sequence[type] = (),
        opcode: int | None = None,
        since: str = "13.1",
        preview: bool = False,
        spelled: str | None = None,
        formerly: str | None = None,
    ) -> None: ...
    def has_assembly(self) -> bool: ...
    def check_types(self) -> str | None: ...
    def check(self) -> str | None: ...
    def check_location(self, location: ir.Location) -> str | None: ...
    def check_regions(self) -> str | None: ...
    def erase(self) -> None: ...
    def get_asm(self, **options: Any) -> str: ...

class Parametrized(type):
    """`TileType[shape, element]` is a constraint of IRDL."""

    def __getitem__(cls, parameters: Any) -> Any: ...

_Operation = Operation

class Dialect:
    """A dialect of `ext` with the base classes of its types, attributes and operations."""

    DIALECT_NAMESPACE: ClassVar[str]

    class Operation(_Operation):
        """The base of operations that declare their fields to `ext` itself."""

    def __init_subclass__(cls, *, name: str) -> None: ...

    class Type(ir.Type, metaclass=Parametrized):
        """A type whose parameters are attributes."""

        params: Sequence[ir.Attribute]
        def __init_subclass__(cls, *, name: str | None = None) -> None: ...

    class Attribute(ir.Attribute, metaclass=Parametrized):
        """An attribute whose parameters are attributes."""

        params: Sequence[ir.Attribute]
        def __init_subclass__(cls, *, name: str | None = None) -> None: ...
