"""Threads tokens through an entry so that accesses to the same array keep program order.

A load is ordered after the last store to its array, a store after every earlier access to it. Arrays that are only
loaded need no tokens. Loops carry the tokens of the arrays they store to, and branches return them as results. Every
access after an acquire is ordered after it, a weak one only if it can rely on it (lowering/tile/analysis/acquires.py);
a release is ordered after every earlier access.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilec.ast_to_tile.control_flow.memory_effects import ALL, STRONG, Access, Effects, Root, access, effects
from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups
from tilec.lowering.tile.analysis.acquires import Acquires

LAST_ACCESS, LAST_STORE = "access", "store"


@dataclass(frozen=True)
class Key:
    """Identifies a token: of the last access or store to an array, or (root None) of the last acquire of a kind."""

    root: Root | None
    role: str


# The token of each key; an absent key means no dependence.
Tokens = dict[Key, ir.Value]


def order_memory(entry: ir.Operation) -> None:
    """Rewrites the entry in place; operations without dependences are unchanged."""
    acquires = Acquires(entry)
    whole = effects(entry, acquires)
    if whole.stored:
        _Order(entry, whole, acquires).run()


@dataclass(frozen=True)
class _ForwardedTokens:
    """The tokens that terminators forward to the enclosing `if` and to the enclosing loop."""

    branch: Sequence[Key] = ()
    loop: Sequence[Key] = ()


class _Order:
    def __init__(self, entry: ir.Operation, whole: Effects, acquires: Acquires) -> None:
        self.block = entry.regions[0].blocks[0]
        self.whole = whole
        self.acquires = acquires
        self.initial: ir.Value | None = None

    def run(self) -> None:
        self._block(self.block, {}, _ForwardedTokens())

    def _block(self, block: ir.Block, tokens: Tokens, forwarded: _ForwardedTokens) -> None:
        for operation in list(block.operations):
            name = operation.operation.name
            if name in ("cuda_tile.for", "cuda_tile.loop"):
                self._loop(operation, tokens)
            elif name == "cuda_tile.if":
                self._branch(operation, tokens, forwarded)
            elif name == "cuda_tile.yield":
                self._forward(operation, tokens, forwarded.branch)
            elif name in ("cuda_tile.continue", "cuda_tile.break"):
                self._forward(operation, tokens, forwarded.loop)
            else:
                touched = access(operation, self.acquires)
                if touched is not None and self._is_ordered(touched):
                    self._access(operation, touched, tokens)

    def _is_ordered(self, touched: Access) -> bool:
        return bool(touched.roots & self.whole.stored or self.whole.orders or self.whole.releases)

    def _access(self, operation: ir.OpView, touched: Access, tokens: Tokens) -> None:
        role = LAST_ACCESS if touched.writes else LAST_STORE
        after = [token for key, token in tokens.items() if _must_follow(key, touched, role)]
        token = _join(list(dict.fromkeys(after)), operation)
        done = _with_token(operation, token) if token is not None else operation.operation.results[-1]
        for root in sorted(touched.roots):
            last, store = Key(root, LAST_ACCESS), Key(root, LAST_STORE)
            if touched.writes:
                tokens[last] = tokens[store] = done
            else:
                point = ir.InsertionPoint.after(done.owner)
                tokens[last] = _join_at([tokens[last], done], point, done.owner.location) if last in tokens else done
        if touched.orders is not None:
            tokens[Key(None, touched.orders)] = done

    def _keys(self, inner: Effects) -> list[Key]:
        """The keys of the tokens that an operation with these effects may update."""
        keys = []
        for root in sorted(inner.loaded | inner.stored):
            if not self._is_ordered(Access(frozenset((root,)), False)):
                continue
            keys.append(Key(root, LAST_ACCESS))
            # Only loads depend on the last store.
            if root in inner.stored and root in self.whole.loaded:
                keys.append(Key(root, LAST_STORE))
        return keys + [Key(None, orders) for orders in (ALL, STRONG) if orders in inner.orders]

    def _token(self, tokens: Tokens, key: Key) -> ir.Value:
        if key in tokens:
            return tokens[key]
        if self.initial is None:
            with ir.InsertionPoint.at_block_begin(self.block):
                location = self.block.owner.location
                self.initial = build("make_token", [], [TokenType.get()], loc=location).results[0]
        return self.initial

    def _forward(self, terminator: ir.OpView, tokens: Tokens, keys: Sequence[Key]) -> None:
        if keys:
            operands = [*terminator.operation.operands, *(self._token(tokens, key) for key in keys)]
            _replace(terminator, operands, [])

    def _loop(self, loop: ir.OpView, tokens: Tokens) -> None:
        keys = self._keys(effects(loop, self.acquires))
        block = loop.operation.regions[0].blocks[0]
        start = [self._token(tokens, key) for key in keys]
        location = loop.operation.location
        inside = tokens | {key: block.add_argument(TokenType.get(), location) for key in keys}
        self._block(block, inside, _ForwardedTokens(loop=keys))
        if keys:
            made = _replace(loop, [*loop.operation.operands, *start], [TokenType.get()] * len(keys))
            tokens.update(zip(keys, list(made.results)[-len(keys) :], strict=True))

    def _branch(self, branch: ir.OpView, tokens: Tokens, forwarded: _ForwardedTokens) -> None:
        blocks = [region.blocks[0] if len(region.blocks) else None for region in branch.operation.regions]
        falls_through = any(block is not None and _ends_in_yield(block) for block in blocks)
        keys = self._keys(effects(branch, self.acquires)) if falls_through else []
        if keys and blocks[1] is None:
            blocks[1] = _empty_else(branch)
        for block in blocks:
            if block is not None:
                self._block(block, dict(tokens), replace(forwarded, branch=keys))
        if keys:
            made = _replace(branch, list(branch.operation.operands), [TokenType.get()] * len(keys))
            tokens.update(zip(keys, list(made.results)[-len(keys) :], strict=True))


def _must_follow(key: Key, touched: Access, role: str) -> bool:
    if key.root is None:
        return key.role == ALL or touched.is_strong
    if touched.releases and key.role == LAST_ACCESS:
        return True
    return key.role == role and key.root in touched.roots


def _join(tokens: list[ir.Value], before: ir.OpView) -> ir.Value | None:
    if not tokens:
        return None
    return _join_at(tokens, ir.InsertionPoint(before.operation), before.operation.location)


def _join_at(tokens: list[ir.Value], point: ir.InsertionPoint, location: ir.Location) -> ir.Value:
    if len(tokens) == 1:
        return tokens[0]
    with point:
        return build("join_tokens", tokens, [TokenType.get()], loc=location).results[0]


def _with_token(operation: ir.OpView, token: ir.Value) -> ir.Value:
    """Rebuilds an access with a token operand; returns its result token."""
    found = groups(operation, "operand")
    assert found is not None
    operands = list((found | {"token": [token]}).values())
    made = _rebuilt(operation, operands, [result.type for result in operation.operation.results])
    return made.results[-1]


def _replace(operation: ir.OpView, operands: list[ir.Value], more: list[ir.Type]) -> ir.Operation:
    """Rebuilds an operation with other operands and additional results, and moves its regions."""
    regions = [list(region.blocks) for region in operation.operation.regions]
    return _rebuilt(operation, operands, [*(r.type for r in operation.operation.results), *more], regions)


def _rebuilt(
    operation: ir.OpView,
    operands: Sequence[ir.Value | Sequence[ir.Value]],
    results: list[ir.Type],
    regions: Sequence[list[ir.Block]] = (),
) -> ir.Operation:
    old = operation.operation
    kept = {name: old.attributes[name] for name in old.attributes if not name.endswith("SegmentSizes")}
    with ir.InsertionPoint(old):
        made = build(old.name, operands, results, kept, loc=old.location)
    for blocks, region in zip(regions, made.regions, strict=False):
        for block in blocks:
            block.append_to(region)
    for before, after in zip(old.results, made.results, strict=False):
        before.replace_all_uses_with(after)
    old.erase()
    return made


def _ends_in_yield(block: ir.Block) -> bool:
    return list(block.operations)[-1].operation.name == "cuda_tile.yield"


def _empty_else(branch: ir.OpView) -> ir.Block:
    location = branch.operation.location
    block = ir.Block.create_at_start(branch.operation.regions[1], [], [])
    with ir.InsertionPoint(block):
        build("yield", loc=location)
    return block
