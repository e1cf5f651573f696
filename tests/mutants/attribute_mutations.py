"""Mutations of one attribute that a pass over tile_gpu writes, or of the order of two operations of a role.

Each row of ATTRIBUTES is a function from an operation to its changes. A change is found in the module alone,
independently of the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tilec.dialect.mlir import context, ir
from tilec.dialect.tile_gpu.operations.channel import CONSUMERS, PRODUCERS
from tilec.dialect.walk import operations_below
from tilec.driver.stage_text import module_text, read_module

# A description of the change, and the change itself.
Change = tuple[str, Callable[[], None]]
CHANNEL, ROLES, _AHEAD = "tile_gpu.make_channel", "tile_gpu.roles", "tile_gpu.iterations_ahead"
_REPEATS = "tile_gpu.repeats"
PUTS, GETS = ("tile_gpu.put_begin", "tile_gpu.put_commit"), ("tile_gpu.get", "tile_gpu.release", "tile_gpu.skip")
# Operations whose order in a role matters: those of channels, and accesses of the memory of slots and buffers.
ORDERED = (
    *PUTS,
    *GETS,
    "tile_gpu.tma_load",
    "tile_gpu.copy_global",
    "tile_gpu.copy_view",
    "tile_gpu.tma_store",
    "tile_gpu.store_wait",
    "tile_gpu.barrier",
    "tile_gpu.fence_async",
    "tile_gpu.load_shared",
    "tile_gpu.store_shared",
    "tile_gpu.load_tensor_memory",
    "tile_gpu.store_tensor_memory",
    "tile_gpu.tcgen05_mma",
    "tile_gpu.wgmma",
    "tile_gpu.wgmma_wait",
    "tile_gpu.order_wait",
    "tile_gpu.order_signal",
)


@dataclass(frozen=True)
class Mutation:
    """Change number `change` of an attribute of operation number `operation` of a module."""

    attribute: str
    operation: int
    change: int
    description: str

    def __str__(self) -> str:
        return f"{self.attribute}: {self.description}"


def mutations(text: str) -> list[Mutation]:
    """All mutations of the text of a tile_gpu module after its passes."""
    with context():
        module = read_module(text, "gpu", "kernel.mlir")
        return [
            Mutation(attribute, index, number, description)
            for index, op in enumerate(operations_below(module))
            for attribute, changes in ATTRIBUTES.items()
            for number, (description, _) in enumerate(changes(op.operation))
        ]


def mutated(text: str, mutation: Mutation) -> str | None:
    """The text with a mutation; None if the verifier rejects it."""
    with context():
        module = read_module(text, "gpu", "kernel.mlir")
        op = list(operations_below(module))[mutation.operation].operation
        list(ATTRIBUTES[mutation.attribute](op))[mutation.change][1]()
        try:
            module.operation.verify()
        except ir.MLIRError:
            return None
        return module_text(module, "gpu")


def _set(op: ir.Operation, name: str, value: ir.Attribute) -> None:
    op.attributes[name] = value


def _set_in_ring(op: ir.Operation, name: str, value: ir.Attribute) -> None:
    """Sets an attribute of all channels of a ring, as the verifier requires."""
    op.attributes[name] = value
    for use in op.results[0].uses:
        if use.owner.name == CHANNEL and "continues" in use.owner.attributes:
            use.owner.attributes[name] = value


def _integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def _number(op: ir.Operation, name: str) -> int:
    return ir.IntegerAttr(op.attributes[name]).value


def _text(op: ir.Operation, name: str) -> str:
    return ir.StringAttr(op.attributes[name]).value


def _is_ring(op: ir.Operation) -> bool:
    """Whether an operation makes the first channel of a ring."""
    return op.name == CHANNEL and "continues" not in op.attributes


def _consumer_names(op: ir.Operation) -> list[str]:
    return [entry.value for entry in ir.ArrayAttr(op.attributes["consumers"])]


def _spelled(op: ir.Operation) -> str:
    """The name of an operation and the parties of its channel: `release of tma-mma ring`."""
    name = op.name.removeprefix("tile_gpu.")
    if op.name not in (CHANNEL, *PUTS, *GETS):
        return name
    channel = op if op.name == CHANNEL else op.operands[0].owner
    parties = "-".join([_text(channel, "producer"), *_consumer_names(channel)])
    return f"{name} of {parties} {_text(channel, 'reuse')}"


def _stages(op: ir.Operation) -> Iterator[Change]:
    if _is_ring(op):
        stages = _number(op, "stages")
        for other in (stages - 1, stages + 1):
            more = "less" if other < stages else "more"
            yield (
                f"one {more}, {_spelled(op)} of {min(stages, 2)}",
                partial(_set_in_ring, op, "stages", _integer(other)),
            )


def _producer(op: ir.Operation) -> Iterator[Change]:
    if _is_ring(op):
        for other in PRODUCERS:
            if other != _text(op, "producer"):
                yield f"{other}, {_spelled(op)}", partial(_set_in_ring, op, "producer", ir.StringAttr.get(other))


def _consumers(op: ir.Operation) -> Iterator[Change]:
    """Another consumer instead of the first one, or one more."""
    if _is_ring(op):
        names = _consumer_names(op)
        for changed in [[other, *names[1:]] for other in CONSUMERS if other != names[0]] + [[*names, "threads"]]:
            value = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in changed])
            yield f"{' and '.join(changed)}, {_spelled(op)}", partial(_set_in_ring, op, "consumers", value)


def _reuse(op: ir.Operation) -> Iterator[Change]:
    if _is_ring(op):
        other = "once" if _text(op, "reuse") == "ring" else "ring"
        yield f"{other}, {_spelled(op)}", partial(_set_in_ring, op, "reuse", ir.StringAttr.get(other))


def _flag(name: str, operations: tuple[str, ...]) -> Callable[[ir.Operation], Iterator[Change]]:
    """A flag is set or removed."""

    def changes(op: ir.Operation) -> Iterator[Change]:
        if op.name not in operations or (name == "continues" and not len(op.operands)):
            return
        if name in op.attributes:
            yield f"removed, {_spelled(op)}", partial(op.attributes.__delitem__, name)
        else:
            yield f"set, {_spelled(op)}", partial(_set, op, name, ir.UnitAttr.get())

    return changes


def _removed_attribute(name: str, operations: tuple[str, ...]) -> Callable[[ir.Operation], Iterator[Change]]:
    """An attribute is removed."""

    def changes(op: ir.Operation) -> Iterator[Change]:
        if op.name in operations and name in op.attributes and "continues" not in op.attributes:
            yield f"removed, {_spelled(op)}", partial(op.attributes.__delitem__, name)

    return changes


def _more(name: str, operations: tuple[str, ...]) -> Callable[[ir.Operation], Iterator[Change]]:
    """A number is greater by one."""

    def changes(op: ir.Operation) -> Iterator[Change]:
        if op.name in operations and name in op.attributes:
            number = _number(op, name)
            yield f"{number + 1}, {_spelled(op)}", partial(_set, op, name, _integer(number + 1))

    return changes


def _roles(op: ir.Operation) -> Iterator[Change]:
    """Two roles exchange their names."""
    if op.name == ROLES:
        names = [entry.value for entry in ir.ArrayAttr(op.attributes["names"])]
        for at in range(1, len(names) - 1):
            changed = [*names[:at], names[at + 1], names[at], *names[at + 2 :]]
            value = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in changed])
            yield f"{', '.join(changed)}", partial(_set, op, "names", value)


def _ahead(op: ir.Operation) -> Iterator[Change]:
    """An operation belongs to the present iteration, or to the one after the next."""
    if _AHEAD in op.attributes:
        yield f"removed, {_spelled(op)}", partial(op.attributes.__delitem__, _AHEAD)
        yield f"one more, {_spelled(op)}", partial(_set, op, _AHEAD, _integer(_number(op, _AHEAD) + 1))


def _repeats(op: ir.Operation) -> Iterator[Change]:
    """A loop has one copy of its body, or one more."""
    if _REPEATS in op.attributes:
        yield f"removed, {_spelled(op)}", partial(op.attributes.__delitem__, _REPEATS)
        yield f"one more, {_spelled(op)}", partial(_set, op, _REPEATS, _integer(_number(op, _REPEATS) + 1))


def _warps(op: ir.Operation) -> Iterator[Change]:
    """A role other than `compute` has another warp."""
    if op.name == ROLES:
        warps = list(ir.DenseI32ArrayAttr(op.attributes["warps"]))
        for at in range(1, len(warps)):
            changed = [*warps[:at], warps[at] + 1, *warps[at + 1 :]]
            yield f"{changed}", partial(_set, op, "warps", ir.DenseI32ArrayAttr.get(changed))


def _order(op: ir.Operation) -> Iterator[Change]:
    """An operation of a channel, or a wait, before the ordered operation before it."""
    if op.name in ORDERED:
        before = [other.operation for other in op.block.operations if _is_before(other.operation, op)]
        ordered = [other for other in before if other.name in ORDERED]
        if ordered:
            yield f"{_spelled(op)} before {_spelled(ordered[-1])}", partial(op.move_before, ordered[-1])


def _removed(op: ir.Operation) -> Iterator[Change]:
    """An operation without results is removed."""
    if op.name in ORDERED and not len(op.results):
        following = op.block.operations[list(op.block.operations).index(op) + 1].operation
        yield f"{_spelled(op)} before {_spelled(following)}", op.erase


def _is_before(first: ir.Operation, second: ir.Operation) -> bool:
    return bool(first != second and first.is_before_in_block(second))


def _vector(op: ir.Operation) -> Iterator[Change]:
    """Copies of other sizes."""
    if op.name == "tile_gpu.copy_global":
        vector = _number(op, "vector")
        for name, size in ("half", vector // 2), ("twice", 2 * vector):
            yield name, partial(_set, op, "vector", _integer(size))


ATTRIBUTES: dict[str, Callable[[ir.Operation], Iterator[Change]]] = {
    "stages": _stages,
    "producer": _producer,
    "consumers": _consumers,
    "reuse": _reuse,
    "continues": _flag("continues", (CHANNEL,)),
    "first_round": _flag("first_round", PUTS),
    "first": _flag("first", ("tile_gpu.order_signal",)),
    "last": _flag("last", ("tile_gpu.order_wait",)),
    "late": _flag("late", ("tile_gpu.release",)),
    "consumer": _more("consumer", GETS),
    "pending": _more("pending", ("tile_gpu.wgmma_wait",)),
    "names": _roles,
    "warps": _warps,
    "iterations_ahead": _ahead,
    "across": _removed_attribute("across", (CHANNEL,)),
    "multicast": _removed_attribute("multicast", ("tile_gpu.tma_load",)),
    "along": _more("along", ("tile_gpu.tma_load",)),
    "joined_programs": _removed_attribute("joined_programs", ("tile_gpu.kernel",)),
    "order": _order,
    "removed": _removed,
    "repeats": _repeats,
    "vector": _vector,
}
