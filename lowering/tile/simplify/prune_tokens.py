"""Removes tokens that order nothing: from make_token, repeated, or already implied by another token."""

from __future__ import annotations

from tilec.dialect.build import attributes_without_segments, build
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups
from tilec.dialect.walk import operations_named
from tilec.lowering.tile.analysis.tile_operation import is_tile_operation


def prune_tokens(module: ir.Module) -> None:
    """Shortens joins and removes token operands without dependences; the order of accesses is preserved."""
    for op in operations_named(module, _takes_tokens):
        if op.operation.name == "cuda_tile.join_tokens":
            _shorten(op)
        elif "token" in {field.name for field in op.operand_fields if field.arity == "optional"}:
            _drop(op)
    _erase_unused(module)


def _takes_tokens(operation: ir.Operation) -> bool:
    # The effect of a token on operations of other dialects is unknown.
    return is_tile_operation(operation) and any(isinstance(value.type, TokenType) for value in operation.operands)


def _shorten(op: ir.OpView) -> None:
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


def _drop(op: ir.OpView) -> None:
    """Rebuilds an access without a token that depends on nothing."""
    token = op.token
    if token is None or not _is_fresh(token):
        return
    operands = groups(op, "operand") or {}
    operands["token"] = []
    attributes = attributes_without_segments(op)
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
    """Whether `token` depends on `earlier` through a chain of tokens in straight-line code."""
    pending, seen = [token], set()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or len(owner.regions) or not is_tile_operation(owner.operation):
            continue
        for operand in owner.operation.operands:
            if operand == earlier:
                return True
            if isinstance(operand.type, TokenType) and operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return False


def _erase_unused(module: ir.Module) -> None:
    for op in operations_named(module, ("cuda_tile.make_token",)):
        if not list(op.result.uses):
            op.operation.erase()
