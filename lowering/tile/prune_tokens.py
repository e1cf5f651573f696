"""Tokens that order nothing go: those of make_token, repeated ones, and ones that another token already waits for."""

from __future__ import annotations

from typing import Any

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def prune_tokens(module: ir.Module) -> None:
    """Shortens joins and drops token operands that depend on nothing; what is ordered stays ordered."""
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        # What an operation of another dialect does with a token is not known here.
        is_ours = operation.name.startswith("cuda_tile.")
        if is_ours and any(isinstance(value.type, TokenType) for value in operation.operands):
            found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in found:
        if op.operation.name == "cuda_tile.join_tokens":
            _shorten(op)
        elif "token" in {field.name for field in op.operand_fields if field.arity == "optional"}:
            _drop(op)
    _erase_unused(module)


def _shorten(op: Any) -> None:
    kept: list[ir.Value] = []
    for token in op.operation.operands:
        if not _is_fresh(token) and token not in kept:
            kept.append(token)
    kept = [token for token in kept if not any(_waits_for(other, token) for other in kept if other != token)]
    if len(kept) == len(op.operation.operands):
        return
    with ir.InsertionPoint(op.operation), op.location:
        if not kept:
            replacement = build("make_token", [], [op.result.type]).result
        else:
            replacement = kept[0] if len(kept) == 1 else build("join_tokens", kept, [op.result.type]).result
    op.result.replace_all_uses_with(replacement)
    op.operation.erase()


def _drop(op: Any) -> None:
    """Rebuilds an access without a token that depends on nothing."""
    token = op.token
    if token is None or not _is_fresh(token):
        return
    operands = groups(op, "operand") or {}
    operands["token"] = []
    attributes = {name: op.attributes[name] for name in op.attributes if name not in _SEGMENTS}
    types = [result.type for result in op.operation.results]
    with ir.InsertionPoint(op.operation), op.location:
        rebuilt = build(op.operation.name, list(operands.values()), types, attributes)
    for old, new in zip(op.operation.results, rebuilt.results, strict=True):
        old.replace_all_uses_with(new)
    op.operation.erase()


def _is_fresh(token: ir.Value) -> bool:
    owner = token.owner
    return not isinstance(owner, ir.Block) and owner.operation.name == "cuda_tile.make_token"


def _waits_for(token: ir.Value, earlier: ir.Value) -> bool:
    """Whether the operation that gives `token` comes after `earlier` through the tokens of straight code."""
    pending, seen = [token], set()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or len(owner.regions) or not owner.operation.name.startswith("cuda_tile."):
            continue
        for operand in owner.operation.operands:
            if operand == earlier:
                return True
            if isinstance(operand.type, TokenType) and operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return False


def _erase_unused(module: ir.Module) -> None:
    unused: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "cuda_tile.make_token" and not list(operation.results[0].uses):
            unused.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in unused:
        operation.erase()
