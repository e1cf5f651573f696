"""Removes tokens that order nothing: from make_token, repeated, or already implied by another token."""

from __future__ import annotations

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_named, reached
from tilec.lowering.tile.analysis.list_words import loaded_word
from tilec.lowering.tile.analysis.part_access import join_tokens
from tilec.lowering.tile.analysis.replacing import erase_unused, rebuilt_without, replace
from tilec.lowering.tile.analysis.tile_operations import is_tile_operation, producer


def prune_tokens(module: ir.Module) -> None:
    """Shortens joins and removes token operands without dependences; the order of accesses is preserved."""
    for op in operations_named(module, _takes_tokens):
        if op.operation.name == "cuda_tile.join_tokens":
            _shorten(op)
        elif "token" in {field.name for field in op.operand_fields if field.arity == "optional"}:
            _drop(op)
    erase_unused(module, "cuda_tile.make_token")


def _takes_tokens(operation: ir.Operation) -> bool:
    # The effect of a token on operations of other dialects is unknown.
    return is_tile_operation(operation) and any(isinstance(value.type, TokenType) for value in operation.operands)


def _shorten(op: ir.OpView) -> None:
    kept = list(dict.fromkeys(token for token in op.operation.operands if not _is_fresh(token)))
    kept = [token for token in kept if not any(_waits_for(other, token) for other in kept if other != token)]
    if len(kept) == len(op.operation.operands):
        return
    with ir.InsertionPoint(op.operation), op.location:
        replacement = join_tokens(kept) if kept else build("make_token", [], [op.result.type]).result
    replace(op, [replacement])


def _drop(op: ir.OpView) -> None:
    """Rebuilds an access without a token that depends on nothing, or a load of memory that nothing changes."""
    if op.token is None:
        return
    is_word = op.operation.name == "cuda_tile.load_ptr_tko" and loaded_word(op) is not None
    if not is_word and not _is_fresh(op.token):
        return
    with ir.InsertionPoint(op.operation), op.location:
        rebuilt = list(rebuilt_without(op, "token"))
    # Later accesses that were ordered after the load are ordered after the accesses before it.
    replace(op, [rebuilt[0], op.token] if is_word else rebuilt)


def _is_fresh(token: ir.Value) -> bool:
    return producer(token, "make_token") is not None


def _waits_for(token: ir.Value, earlier: ir.Value) -> bool:
    """Whether `token`, another one, depends on `earlier` through a chain of tokens in straight-line code."""
    return earlier in reached(token, _tokens_before)


def _tokens_before(token: ir.Value) -> list[ir.Value]:
    owner = token.owner
    if isinstance(owner, ir.Block) or len(owner.regions) or not is_tile_operation(owner.operation):
        return []
    return [operand for operand in owner.operation.operands if isinstance(operand.type, TokenType)]
