"""Builds instructions with cached attributes, in one or two microseconds each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tilec.dialect.mlir import context, ir
from tilec.dialect.ptx.instruction import MAXIMUM_OPERANDS, MAXIMUM_RESULTS
from tilec.dialect.ptx.segments import segments
from tilec.dialect.walk import create_in_new_module

# The attribute with the labels of a branch's targets in the text.
LABELS = "ptx.labels"
UNIFORM = "ptx.uniform"


def _names(kind: str) -> list[list[str]]:
    """Operation names by number of results and operands; the last one takes any number."""
    fixed = [[f"ptx.{kind}_{r}_{n}" for n in range(MAXIMUM_OPERANDS + 1)] for r in range(MAXIMUM_RESULTS + 1)]
    return [*fixed, [f"ptx.{kind}_many"]]


_COMPUTE, _EXECUTE = _names("compute"), _names("execute")


class PtxBuilder:
    """Builds the body of one `ptx.entry` (`body` and `attributes` as entry() returns and takes them).

    `$0, $1, ...` in a text are the results, then the operands; immediates are written by the caller. `location` is
    the default location of the operations.
    """

    def __init__(self, entry: ir.Operation, location: ir.Location | None = None) -> None:
        self.entry = entry
        self.region = entry.regions[0]
        made = entry.context
        self.i1, self.i16, self.i32, self.i64, self.i128 = (
            ir.IntegerType.get_signless(n, made) for n in (1, 16, 32, 64, 128)
        )
        self.f32, self.f64 = ir.F32Type.get(made), ir.F64Type.get(made)
        self.location = location or entry.location
        self._attributes: dict[tuple[str, tuple[int, ...] | None], dict[str, ir.Attribute]] = {}
        self._labels: dict[ir.Block, str] = {}
        self.at(self.region.blocks[0] if len(self.region.blocks) else self.block())

    def at(self, block: ir.Block) -> None:
        """Moves the insertion point to the end of a block."""
        self.current = block
        self._point = ir.InsertionPoint(block)

    def before(self, operation: ir.Operation) -> None:
        """Moves the insertion point before an operation, for example to the start of a role."""
        self.current = operation.block
        self._point = ir.InsertionPoint(operation)

    def block(self, types: Sequence[ir.Type] = (), label: str | None = None) -> ir.Block:
        """Creates a block at the end of the body; `label` is its name in the text, numbered if not unique."""
        made = self.region.blocks.append(*types, arg_locs=[self.location] * len(types))
        if label:
            self._labels[made] = label
        return made

    def compute(
        self,
        text: str,
        results: Any,
        *operands: ir.Value,
        tied: Sequence[int] | None = None,
        loc: ir.Location | None = None,
    ) -> Any:
        """Creates an instruction without effects; returns one value for a type, a tuple for a sequence of types.

        `tied` has, for each result, the index of the operand whose register it shares, or -1.
        """
        return self._instruction(_COMPUTE, text, results, operands, tied, loc)

    def execute(
        self,
        text: str,
        results: Any = (),
        *operands: ir.Value,
        tied: Sequence[int] | None = None,
        loc: ir.Location | None = None,
    ) -> Any:
        """Creates an instruction with effects, which keeps its position; otherwise as compute()."""
        return self._instruction(_EXECUTE, text, results, operands, tied, loc)

    def branch(self, target: ir.Block, *operands: ir.Value, loc: ir.Location | None = None) -> None:
        """Branches to a block with values for its arguments."""
        create_in_new_module(
            "cf.br",
            operands=list(operands),
            attributes=self._branch_attributes((target,)),
            successors=[target],
            loc=loc or self.location,
            ip=self._point,
        )

    def cond_branch(
        self,
        condition: ir.Value,
        then: ir.Block,
        then_operands: Sequence[ir.Value],
        otherwise: ir.Block,
        otherwise_operands: Sequence[ir.Value],
        *,
        uniform: bool = False,
        loc: ir.Location | None = None,
    ) -> None:
        """Branches to one of two blocks; `uniform` asserts that the threads of a warp do not diverge (`bra.uni`)."""
        attributes = self._branch_attributes((then, otherwise))
        sizes = [1, len(then_operands), len(otherwise_operands)]
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(sizes, self.entry.context)
        if uniform:
            attributes[UNIFORM] = ir.UnitAttr.get(self.entry.context)
        create_in_new_module(
            "cf.cond_br",
            operands=[condition, *then_operands, *otherwise_operands],
            attributes=attributes,
            successors=[then, otherwise],
            loc=loc or self.location,
            ip=self._point,
        )

    def leave(self, loc: ir.Location | None = None) -> None:
        """Ends the kernel for the thread (`ptx.return`)."""
        create_in_new_module("ptx.return", loc=loc or self.location, ip=self._point)

    def _instruction(
        self,
        names: list[list[str]],
        text: str,
        results: Any,
        operands: Sequence[ir.Value],
        tied: Sequence[int] | None,
        loc: ir.Location | None,
    ) -> Any:
        single = isinstance(results, ir.Type)
        types = [results] if single else results
        key = (text, tuple(tied) if tied is not None else None)
        attributes = self._attributes.get(key) or self._instruction_attributes(key)
        if len(types) <= MAXIMUM_RESULTS and len(operands) <= MAXIMUM_OPERANDS:
            name = names[len(types)][len(operands)]
        else:
            name, attributes = names[-1][0], {**attributes, **segments(types, operands, self.entry.context)}
        made = create_in_new_module(name, types, operands, attributes, loc=loc or self.location, ip=self._point)
        if single:
            return made.result
        return tuple(made.results) if types else None

    def _instruction_attributes(self, key: tuple[str, tuple[int, ...] | None]) -> dict[str, ir.Attribute]:
        text, tied = key
        attributes = {"text": ir.StringAttr.get(text, self.entry.context)}
        if tied is not None:
            attributes["tied"] = ir.DenseI32ArrayAttr.get(list(tied), self.entry.context)
        self._attributes[key] = attributes
        return attributes

    def _branch_attributes(self, targets: Sequence[ir.Block]) -> dict[str, ir.Attribute]:
        labels = [self._labels.get(target, "") for target in targets]
        if not any(labels):
            return {}
        made = self.entry.context
        return {LABELS: ir.ArrayAttr.get([ir.StringAttr.get(label, made) for label in labels], made)}


def entry(
    module: ir.Module,
    name: str,
    *,
    target: str,
    threads: Sequence[int],
    parameters: Sequence[tuple[str, str]] = (),
    shared: Sequence[dict[str, Any]] = (),
    cluster: Sequence[int] | None = None,
    maxnreg: int | None = None,
    min_ctas: int | None = None,
    launch: dict[str, object] | None = None,
    loc: ir.Location | None = None,
) -> ir.Operation:
    """Creates a `ptx.entry` at the end of the module, with one empty block.

    `parameters` are (name, type), `shared` are {"name", "bytes", "alignment", "dynamic": bool}; see EntryOp.
    """
    with module.context:
        attributes: dict[str, ir.Attribute] = {
            "sym_name": ir.StringAttr.get(name),
            "target": ir.StringAttr.get(target),
            "parameters": ir.ArrayAttr.get([_parameter(*parameter) for parameter in parameters]),
            "shared": shared_attribute(shared),
            "threads": ir.DenseI32ArrayAttr.get(_three(threads)),
        }
        if cluster is not None:
            attributes["cluster"] = ir.DenseI32ArrayAttr.get(_three(cluster))
        integer = ir.IntegerType.get_signless(32)
        for key, value in (("maxnreg", maxnreg), ("min_ctas", min_ctas)):
            if value is not None:
                attributes[key] = ir.IntegerAttr.get(integer, value)
        if launch is not None:
            attributes["tilec.launch"] = ir.StringAttr.get(json.dumps(launch))
        made = ir.Operation.create(
            "ptx.entry",
            attributes=attributes,
            regions=1,
            loc=loc or ir.Location.unknown(),
            ip=ir.InsertionPoint(module.body),
        )
        made.regions[0].blocks.append()
        return made


def function(module: ir.Module, name: str, text: str) -> ir.Operation:
    """Creates a device function from PTX text at the start of the module."""
    with module.context:
        return ir.Operation.create(
            "ptx.function",
            attributes={"sym_name": ir.StringAttr.get(name), "text": ir.StringAttr.get(text)},
            loc=ir.Location.unknown(),
            ip=ir.InsertionPoint.at_block_begin(module.body),
        )


def variable(module: ir.Module, name: str, text: str) -> ir.Operation:
    """Creates a variable from PTX text, before the entries of the module."""
    entry = next((each for each in module.body.operations if each.operation.name == "ptx.entry"), None)
    with module.context:
        return ir.Operation.create(
            "ptx.variable",
            attributes={"sym_name": ir.StringAttr.get(name), "text": ir.StringAttr.get(text)},
            loc=ir.Location.unknown(),
            ip=ir.InsertionPoint(module.body) if entry is None else ir.InsertionPoint(entry),
        )


def shared_attribute(buffers: Sequence[dict[str, Any]]) -> ir.ArrayAttr:
    """The attribute `shared` of an entry, for sizes that are known only after the body is built."""
    with context():
        return ir.ArrayAttr.get([_shared(**buffer) for buffer in buffers])


def _three(extents: Sequence[int]) -> list[int]:
    return [*extents, *[1] * (3 - len(extents))]


def _parameter(name: str, kind: str) -> ir.DictAttr:
    return ir.DictAttr.get({"name": ir.StringAttr.get(name), "type": ir.StringAttr.get(kind)})


def _shared(name: str, bytes: int, alignment: int, dynamic: bool = False) -> ir.DictAttr:
    integer = ir.IntegerType.get_signless(64)
    fields: dict[str, ir.Attribute] = {
        "name": ir.StringAttr.get(name),
        "bytes": ir.IntegerAttr.get(integer, bytes),
        "alignment": ir.IntegerAttr.get(integer, alignment),
    }
    if dynamic:
        fields["dynamic"] = ir.UnitAttr.get()
    return ir.DictAttr.get(fields)
