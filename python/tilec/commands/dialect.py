"""`tilec dialect`: lists dialects and operations, or prints dialects as IRDL for other MLIR tools.

tilec dialect                          all dialects and their operations
tilec dialect cuda_tile tile_gpu       the operations of two dialects
tilec dialect cuda_tile.mmaf           the declaration of one operation
tilec dialect --irdl -o tilec.irdl.mlir
                                       the dialects in IRDL: mlir-opt --irdl-file=tilec.irdl.mlir (docs/irdl.md)
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tilec.commands import json_output
from tilec.errors import UsageError
from tilec.runtime.artifact import artifact as artifacts


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="a dialect or an operation (default: all dialects)")
    parser.add_argument("--irdl", action="store_true", help="print dialects as IRDL")
    parser.add_argument(
        "-o", dest="output", metavar="FILE", default="-", help="output file, or - for standard output (default)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Writes the text; raises UsageError for a name that is neither a dialect nor an operation."""
    from tilec.dialect.registry import dialects

    known = {dialect.DIALECT_NAMESPACE: dialect for dialect in dialects()}
    names = arguments.names or list(known)
    if arguments.json and not arguments.irdl:
        json_output.write("dialect", {"operations": [fields for name in names for fields in _fields(known, name)]})
        return
    text = _definition(known, names) if arguments.irdl else "\n".join(_listed(known, name) for name in names)
    if arguments.json:
        json_output.write("irdl", {"irdl": text})
    elif arguments.output == "-":
        sys.stdout.write(text)
    else:
        artifacts.write(Path(arguments.output), text.encode())


def _fields(known: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    from tilec.dialect.catalogue import fields

    operations = known[name].operations if name in known else [_operation(known, name)]
    return map(fields, operations)


def _definition(known: dict[str, Any], names: list[str]) -> str:
    from tilec.dialect.irdl_export import definition

    for name in names:
        if name not in known:
            raise UsageError(f"unknown dialect '{name}': expected one of {', '.join(known)}")
    # MLIR rejects a text that defines a dialect twice.
    return definition(known[name] for name in dict.fromkeys(names))


def _listed(known: dict[str, Any], name: str) -> str:
    from tilec.dialect.catalogue import describe

    if name in known:
        return "\n".join(_dialect(known[name])) + "\n"
    return describe(_operation(known, name))


def _operation(known: dict[str, Any], name: str) -> Any:
    namespace = name.partition(".")[0]
    if namespace not in known:
        raise UsageError(f"unknown dialect '{namespace}': expected one of {', '.join(known)}")
    for operation in known[namespace].operations:
        if name in (operation.OPERATION_NAME, getattr(operation, "spelled_name", "")):
            return operation
    raise UsageError(f"unknown operation '{name}': run 'tilec dialect {namespace}' for the list of operations")


def _dialect(dialect: Any) -> Iterator[str]:
    from tilec.dialect.catalogue import table

    yield f"{dialect.DIALECT_NAMESPACE}: {inspect.getdoc(dialect)}"
    if dialect.types:
        yield f"types: {', '.join(f'!{type.type_name}' for type in dialect.types)}"
    if dialect.attributes:
        yield f"attributes: {', '.join(f'#{attribute.attr_name}' for attribute in dialect.attributes)}"
    yield from table(dialect.operations)
