"""Reads the operations of a kernel into its body."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.bytecode.layout import COUNTED, FIXED, classes_by_opcode, layout
from tilec.dialect.bytecode.reading.attribute_reader import AttributeReader
from tilec.dialect.bytecode.reading.cursor import Cursor, Malformed
from tilec.dialect.bytecode.reading.reading_plan import MANY, SINGLE, ReadingPlan
from tilec.dialect.bytecode.tags import DEEPEST_REGIONS
from tilec.dialect.mlir import ir

# Operations that have sections of their own.
_NOT_IN_BODIES = ("entry", "global")


class Plans:
    """The plans of a file by opcode."""

    def __init__(self, attributes: AttributeReader, preview: bool) -> None:
        self.attributes = attributes
        self._preview = preview
        self._made: dict[int, ReadingPlan] = {}

    def get(self, opcode: int, cursor: Cursor, at: int) -> ReadingPlan:
        """The plan of an opcode; raises Malformed if the version does not have it."""
        found = self._made.get(opcode)
        if found is None:
            found = self._made[opcode] = self._make(opcode, cursor, at)
        return found

    def _make(self, opcode: int, cursor: Cursor, at: int) -> ReadingPlan:
        operation, version = classes_by_opcode().get(opcode), self.attributes.version
        if operation is None:
            cursor.fail(f"unknown opcode {opcode}", at)
        found = layout(operation, version)  # type: ignore[arg-type]
        name = operation.spelled_name.removeprefix("cuda_tile.")
        if found.since > version:
            needed = f"needs Tile IR {found.since} or newer, but the file is of {version}"
            cursor.fail(f"opcode {opcode} ('{name}') {needed}", at)
        if operation.preview and not self._preview:
            message = "is a preview operation, but the header does not enable the preview"
            cursor.fail(f"opcode {opcode} ('{name}') {message}", at)
        if name in _NOT_IN_BODIES:
            cursor.fail(f"opcode {opcode} ('{name}') is not allowed in the body of a function", at)
        return ReadingPlan(found, self.attributes)


class BodyReader:
    """Reads the body of one function; `count` operations have been read, the last of them `spelled`."""

    def __init__(self, plans: Plans, cursor: Cursor, locations: Iterator[ir.Location]) -> None:
        self.count, self.spelled = 0, ""
        self._plans, self._cursor, self._locations = plans, cursor, locations
        self._types, self._constants = plans.attributes.types, plans.attributes.constants
        self._unit = ir.UnitAttr.get()
        # Values in the order of their definition, with their types beside them.
        self._values: list[ir.Value] = []
        self._value_types: list[ir.Type] = []
        self._depth = 0

    def read(self, block: ir.Block) -> None:
        """Reads all operations into a block; the block's arguments are the first values."""
        self._define(list(block.arguments))
        try:
            self._fill(block, None)
        except Malformed as error:
            error.operation, error.number = self.spelled, self.count
            raise

    def _fill(self, block: ir.Block, count: int | None) -> None:
        """Reads a number of operations, or all remaining ones, into a block."""
        cursor, point = self._cursor, ir.InsertionPoint(block)
        last: ReadingPlan | None = None
        while cursor.left if count is None else count:
            if last is not None and last.ends_block:
                cursor.fail(f"expected no more operations after '{last.spelled}', which ends its block")
            last = self._operation(point)
            count = None if count is None else count - 1
        if last is None or not last.ends_block:
            found = f"its last operation is '{last.spelled}'" if last is not None else "it is empty"
            cursor.fail(f"expected the block to end in a terminator, but {found}")

    def _define(self, values: list[ir.Value]) -> None:
        self._values += values
        self._value_types += [value.type for value in values]

    def _operation(self, point: ir.InsertionPoint) -> ReadingPlan:
        cursor = self._cursor
        start = cursor.at
        self.count += 1
        self.spelled = ""
        plan = self._plans.get(cursor.number(), cursor, start)
        self.spelled = plan.spelled
        location = next(self._locations)
        types = self._result_types(plan)
        flags = cursor.number() if plan.flags else 0
        attributes = self._attributes(plan, flags, types)
        sizes, numbers = self._operands(plan, flags)
        operands = self._visible(numbers, start)
        results = types + plan.younger_results
        if plan.operand_segments is not None or plan.result_segments is not None:
            self._segments(plan, attributes, sizes, numbers, results, start)
        operation = ir.Operation.create(
            plan.name, results, operands, attributes, regions=plan.regions, loc=location, ip=point
        )
        if plan.regions:
            self._regions(operation, location)
        if len(results) == 1 == len(types):
            # Takes half the time of a list of one element.
            self._values.append(operation.result)
        elif types:
            self._values += list(operation.results)[: len(types)]
        self._value_types += types
        return plan

    def _attributes(self, plan: ReadingPlan, flags: int, types: list[ir.Type]) -> dict[str, ir.Attribute]:
        cursor, found = self._cursor, plan.defaults.copy()
        for name, bit, read in plan.attributes:
            if not bit or flags & bit:
                attribute = read(cursor) if read is not None else self._constants.read(types[0], cursor)
                if attribute is not None:
                    found[name] = attribute
        for name, bit in plan.units:
            if flags & bit:
                found[name] = self._unit
        return found

    def _visible(self, numbers: list[int], start: int) -> list[ir.Value]:
        values = self._values
        try:
            return [values[number] for number in numbers]
        except IndexError:
            self._cursor.fail(f"operand index {max(numbers)} is out of bounds: {len(values)} values are visible", start)

    def _segments(
        self,
        plan: ReadingPlan,
        attributes: dict[str, ir.Attribute],
        sizes: list[int],
        numbers: list[int],
        results: list[ir.Type],
        start: int,
    ) -> None:
        types = self._value_types
        try:
            if plan.operand_segments is not None:
                operands = [types[number] for number in numbers]
                attributes["operandSegmentSizes"] = plan.operand_segments.of(sizes, operands)
            if plan.result_segments is not None:
                sizes = plan.result_sizes(len(results))
                attributes["resultSegmentSizes"] = plan.result_segments.of(sizes, results)
        except ValueError as error:
            self._cursor.fail(str(error), start)

    def _result_types(self, plan: ReadingPlan) -> list[ir.Type]:
        cursor, expected = self._cursor, plan.fixed_results
        count = expected
        if plan.layout.result_count:
            start, count = cursor.at, cursor.count("results")
            if count < expected or (count > expected and not plan.variadic_results):
                least = "at least " if plan.variadic_results else ""
                cursor.fail(f"expected {least}{expected} results, but got {count}", start)
        read = self._types.read
        return [read(cursor) for _ in range(count)]

    def _operands(self, plan: ReadingPlan, flags: int) -> tuple[list[int], list[int]]:
        """Reads the sizes of the operand groups and the indices of the operands."""
        cursor, kind = self._cursor, plan.layout.operand_layout
        number = cursor.number
        if kind == FIXED:
            return [], [number() for _ in plan.groups]
        if kind == COUNTED:
            start, total = cursor.at, cursor.count("operands")
            if total < plan.fixed_operands:
                cursor.fail(f"expected at least {plan.fixed_operands} operands, but got {total}", start)
            return plan.operand_sizes(total), [number() for _ in range(total)]
        sizes: list[int] = []
        numbers: list[int] = []
        for group in plan.groups:
            size = 1 if group == SINGLE else cursor.count("operands") if group == MANY else int(flags & group != 0)
            for _ in range(size):
                numbers.append(number())
            sizes.append(size)
        if plan.index is not None and plan.all_false is not None:
            self._check_inbounds(plan, sizes[plan.index])
        return sizes, numbers

    def _check_inbounds(self, plan: ReadingPlan, indices: int) -> None:
        """An array of only false equals absence, so the verifier has no length to check."""
        given, plan.all_false = plan.all_false, None
        if given != indices:
            self._cursor.fail(f"expects one inbounds flag an index ({indices}), but got {given}")

    def _regions(self, operation: ir.Operation, location: ir.Location) -> None:
        cursor, expected = self._cursor, len(operation.regions)
        start, count = cursor.at, cursor.number()
        if count != expected:
            cursor.fail(f"expected {expected} regions, but got {count}", start)
        self._depth += 1
        if self._depth > DEEPEST_REGIONS:
            cursor.fail(f"regions are nested more than {DEEPEST_REGIONS} deep", start)
        for region in operation.regions:
            self._region(region, location)
        self._depth -= 1

    def _region(self, region: ir.Region, location: ir.Location) -> None:
        cursor = self._cursor
        start, blocks = cursor.at, cursor.number()
        if blocks > 1:
            cursor.fail(f"expected a region of at most one block, but got {blocks}", start)
        if not blocks:
            return
        visible = len(self._values)
        types = [self._types.read(cursor) for _ in range(cursor.count("arguments"))]
        block = region.blocks.append(*types, arg_locs=[location] * len(types))
        self._define(list(block.arguments))
        self._fill(block, cursor.count("operations"))
        del self._values[visible:], self._value_types[visible:]
