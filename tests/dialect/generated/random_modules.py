"""Random modules of Tile IR: kernels with nested regions, globals, hints and attributes."""

from __future__ import annotations

from random import Random
from typing import Any

import random_attributes as attributes
import random_types as types
from random_operands import Values
from random_operations import MAKERS, by_fields

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.element import INTEGERS, NUMBERS
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.spelling import spell
from tilec.text_input.module import Module

with context():
    _ALL = sorted(name.removeprefix("cuda_tile.") for name in OPERATIONS if name.startswith("cuda_tile."))
REGIONS = ("if", "for", "loop", "reduce", "scan")
TERMINATORS = ("yield", "continue", "break", "return")
TOP_LEVEL = ("entry", "global")
PREVIEW = tuple(name for name in _ALL if OPERATIONS[f"cuda_tile.{name}"].preview)
# Operations that may occur anywhere in a body; terminators are generated with their regions.
NAMES = tuple(name for name in _ALL if name not in (*TERMINATORS, *TOP_LEVEL))
_DEPTH = 3


def module(seed: int, operations: int = 12, only: str | None = None, text_only: bool = True) -> Module:
    """A verified module, determined by the seed, with this number of operations in the body of each kernel.

    `only` is the operation that every body starts with. Unless `text_only`, the module has nothing that bytecode of
    version 13.5 cannot represent, which are preview operations and discardable attributes.
    """
    with context(), ir.Location.file("generated.py", 1, 1):
        return _Generator(Random(seed), text_only).module(operations, only)


class _Generator:
    def __init__(self, random: Random, text_only: bool) -> None:
        self.random, self.text_only = random, text_only
        self.values = Values(random)
        self.globals: dict[str, ir.Type] = {}
        self.names = [name for name in NAMES if text_only or name not in PREVIEW]

    def module(self, operations: int, only: str | None) -> Module:
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get("kernels")
        if self.random.random() < 0.3:
            module.operation.attributes["cuda_tile.producer"] = ir.StringAttr.get(attributes.text(self.random) or "me")
        with ir.InsertionPoint(module.body):
            for index in range(self.random.randint(0, 2) + (only in ("global", "get_global"))):
                self._global(f"g{index}")
            for index in range(self.random.randint(1, 2)):
                self._entry(f"k{index}", operations, only)
        generated = Module(module, "generated")
        generated.verify()
        return generated

    def _global(self, name: str) -> None:
        element, random = self.random.choice(NUMBERS), self.random
        type = types.tile((random.choice((2, 4, 128)),), element)
        given = {
            "sym_name": name,
            "value": attributes.elements(random, type),
            "alignment": random.choice((0, 0, 1, 64)),
            "symbol_visibility": random.choice(("public", "private")),
            "constant": random.random() < 0.5,
        }
        build("global", [], [], given)
        self.globals[name] = type.element

    def _entry(self, name: str, operations: int, only: str | None) -> None:
        random = self.random
        elements = [
            types.pointer(random, attribute=random.choice(types.POINTER_ATTRIBUTES))
            if random.random() < 0.4
            else random.choice([each for each in NUMBERS if each != "f4E2M1FN"])
            for _ in range(random.randrange(5))
        ]
        arguments = [types.tile((), element) for element in elements]
        given: dict[str, Any] = {"sym_name": name, "function_type": ir.FunctionType.get(arguments, [])}
        if random.random() < 0.3:
            given["optimization_hints"] = attributes.hints(random, "occupancy", "num_cta_in_cga")
        if random.random() < 0.3 and arguments:
            facts = [{"cuda_tile.fact": ir.BoolAttr.get(True)} if random.random() < 0.5 else {} for _ in arguments]
            if any(facts):
                given["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in facts])
        operation = build("entry", [], [], given)
        block = operation.regions[0].blocks.append(*arguments, arg_locs=[operation.location] * len(arguments))
        self.values.enter(list(block.arguments), isolated=True)
        with ir.InsertionPoint(block):
            if only is not None and only not in (*TERMINATORS, *TOP_LEVEL):
                self._operation(only, 0, operations)
            self._body(operations, 0)
            build("return")
        self.values.leave()

    def _body(self, operations: int, depth: int) -> None:
        for _ in range(operations):
            names = self.names if depth < _DEPTH else [name for name in self.names if name not in REGIONS]
            self._operation(self.random.choice(names), depth, operations // 3)

    def _operation(self, name: str, depth: int, inner: int) -> None:
        if name == "get_global":
            made = self._get_global()
        elif name in ("reduce", "scan"):
            made = self._reduction(name)
        elif name in REGIONS:
            made = getattr(self, f"_{name}")(depth, inner)
        else:
            made = MAKERS[name](self.values) if name in MAKERS else by_fields(name, self.values)
            assert made is not None or name not in self.names, f"no types found for {name}"
        if made is None:
            return
        if self.text_only and self.random.random() < 0.15:
            made.attributes["stray"] = attributes.discardable(self.random)
            made.attributes["my.fact"] = attributes.discardable(self.random)
        if name != "make_tensor_view":
            self.values.made(made)

    def _get_global(self) -> ir.Operation | None:
        if not self.globals:
            return None
        name, element = self.random.choice(list(self.globals.items()))
        pointer = types.pointer(self.random, spell(element))
        return build("get_global", [], [types.tile((), pointer)], {"name": name})

    def _region(self, operation: ir.Operation, index: int, arguments: list[ir.Type]) -> ir.Block:
        block = operation.regions[index].blocks.append(*arguments, arg_locs=[operation.location] * len(arguments))
        self.values.enter(list(block.arguments))
        return block

    def _end(self, name: str, expected: list[ir.Type]) -> None:
        build(name, [[self.values.of(type) for type in expected]])

    def _carried(self) -> list[ir.Type]:
        return [types.carried(self.random) for _ in range(self.random.randrange(4))]

    def _if(self, depth: int, inner: int) -> ir.Operation:
        results = self._carried()
        made = build("if", [self.values.scalar("i1")], results)
        for index in range(2 if results or self.random.random() < 0.5 else 1):
            with ir.InsertionPoint(self._region(made, index, [])):
                self._body(inner, depth + 1)
                self._end("yield", results)
            self.values.leave()
        return made

    def _leave_early(self, name: str, expected: list[ir.Type]) -> None:
        """An `if` whose branch ends with `continue`, `break` or `return`."""
        made = build("if", [self.values.scalar("i1")])
        with ir.InsertionPoint(self._region(made, 0, [])):
            self._end(name, expected)
        self.values.leave()

    def _for(self, depth: int, inner: int) -> ir.Operation:
        bound, carried = types.tile((), self.random.choice(INTEGERS)), self._carried()
        operands = [*(self.values.of(bound) for _ in range(3)), [self.values.of(type) for type in carried]]
        made = build("for", operands, carried, {"unsignedCmp": self.random.random() < 0.3})
        with ir.InsertionPoint(self._region(made, 0, [bound, *carried])):
            self._body(inner, depth + 1)
            if self.random.random() < 0.5:
                self._leave_early("continue", carried)
            self._end("continue", carried)
        self.values.leave()
        return made

    def _loop(self, depth: int, inner: int) -> ir.Operation:
        carried, results = self._carried(), self._carried()
        made = build("loop", [[self.values.of(type) for type in carried]], results)
        with ir.InsertionPoint(self._region(made, 0, carried)):
            self._body(inner, depth + 1)
            self._leave_early("break", results)
            # A return may leave loops, but not counted ones.
            if depth == 0 and self.random.random() < 0.5:
                self._leave_early("return", [])
            self._end(*self.random.choice((("continue", carried), ("break", results))))
        self.values.leave()
        return made

    def _reduction(self, name: str) -> ir.Operation:
        random, extents = self.random, types.shape(self.random) or (4,)
        elements = random.sample([each for each in NUMBERS if each != "f4E2M1FN"], random.randint(1, 3))
        operands = [self.values.of(types.tile(extents, element)) for element in elements]
        dim = random.randrange(len(extents))
        kept = extents if name == "scan" else extents[:dim] + extents[dim + 1 :]
        given: dict[str, Any] = {"dim": dim}
        given["identities"] = ir.ArrayAttr.get([attributes.identity(random, v.type.element) for v in operands])
        if name == "scan":
            given["reverse"] = random.random() < 0.5
        made = build(name, [operands], [types.tile(kept, element) for element in elements], given)
        scalars = [types.tile((), element) for element in elements]
        pairs = [type for type in scalars for _ in range(2)]
        with ir.InsertionPoint(self._region(made, 0, pairs)):
            for type in scalars:
                if spell(type.element) in ("f16", "f32"):
                    self.values.made(build("maxf", [self.values.of(type), self.values.of(type)], [type]))
            self._end("yield", scalars)
        self.values.leave()
        return made


def names_of(found: Module) -> set[str]:
    """The names of the operations of a module, and the element types of its tiles."""
    names: set[str] = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        names.add(operation.name.removeprefix("cuda_tile."))
        for value in (*operation.operands, *operation.results):
            if isinstance(value.type, TileType):
                names.add(spell(value.type.element))
        return ir.WalkResult.ADVANCE

    found.ir.operation.walk(visit)
    return names
