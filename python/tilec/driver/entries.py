"""Entries of a module: selects the entry to compile, and adds a signature to an entry without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.driver.stage_text import GPU_PASSED, STAGE_ATTRIBUTE
from tilec.errors import InputError, UsageError
from tilec.runtime.arguments.arguments import Argument, PointerArgument, ScalarArgument, from_text, to_text

SIGNATURE = "tilec.signature"
_ENTRY = "cuda_tile.entry"


def entries(module: ir.Module) -> dict[str, ir.Operation]:
    """The entries of a Tile IR module by name."""
    operations = [operation.operation for operation in module.body.operations]
    return {op.attributes["sym_name"].value: op for op in operations if op.name == _ENTRY}


def chosen(module: ir.Module, entry: str | None) -> str:
    """The name of the entry to compile: `entry`, or the only entry of the module if `entry` is None.

    Raises InputError for a module without entries, UsageError if the choice is ambiguous or unknown.
    """
    names = list(entries(module))
    if not names:
        raise InputError("the module has no entry")
    if entry is None and len(names) > 1:
        raise UsageError(f"the module has {len(names)} entries: select one of {', '.join(names)}")
    if entry is not None and entry not in names:
        raise UsageError(f"the module has no entry '{entry}' (entries: {', '.join(names)})")
    return entry or names[0]


def with_one_entry(module: ir.Module, entry: str | None) -> ir.Module:
    """A copy of the module that contains only this entry, with a `tilec.signature` attribute."""
    name = chosen(module, entry)

    def keep(copy: ir.Module) -> None:
        for other, operation in entries(copy).items():
            if other != name:
                operation.erase()
            elif SIGNATURE not in operation.attributes:
                operation.attributes[SIGNATURE] = ir.StringAttr.get(to_text(signature_of_entry(operation)))

    return changed_copy(module, keep)


def arguments_of(module: ir.Module, entry: str) -> tuple[Argument, ...]:
    """The arguments of an entry: from its `tilec.signature` if present, else from its declared parameters."""
    operation = entries(module)[entry]
    if SIGNATURE in operation.attributes:
        return from_text(operation.attributes[SIGNATURE].value, SIGNATURE)
    return signature_of_entry(operation)


def signature_of_entry(operation: ir.Operation) -> tuple[Argument, ...]:
    """The declared parameters of the entry, pointers and scalars, as arguments named arg0, arg1, ..."""
    types = [argument.type for argument in operation.regions[0].blocks[0].arguments]
    return tuple(_argument(f"arg{index}", type.element) for index, type in enumerate(types))


def _argument(name: str, element: ir.Type) -> Argument:
    if isinstance(element, PointerType):
        return PointerArgument(name, spell(element.element))
    # Integers of Tile IR are signless.
    return ScalarArgument(name, spell(element), signless=isinstance(element, ir.IntegerType))


def changed_copy(module: ir.Module, change: Callable[[ir.Module], Any]) -> ir.Module:
    """Applies `change` to a copy of the module. Returns the module that `change` returns, else the copy."""
    with module.operation.location:
        copy = ir.Module.create()
        for name in module.operation.attributes:
            copy.operation.attributes[name] = module.operation.attributes[name]
        for operation in module.body.operations:
            operation.operation.clone(ip=ir.InsertionPoint(copy.body))
        return change(copy) or copy


def after_passes(module: ir.Module, run: Callable[..., Any], **arguments: Any) -> ir.Module:
    """Runs passes over tile_gpu on a copy of the module, and sets its STAGE_ATTRIBUTE to GPU_PASSED."""
    passed = changed_copy(module, lambda copy: run(copy, **arguments))
    with passed.context:
        passed.operation.attributes[STAGE_ATTRIBUTE] = ir.StringAttr.get(GPU_PASSED)
    return passed
