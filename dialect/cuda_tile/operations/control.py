"""Branches, loops and their terminators."""

from tilec.dialect.attributes import Flag
from tilec.dialect.cuda_tile.nesting import ancestor_problem, carried_problem, first_ancestor
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.sets import AnyType, ScalarBool, ScalarInteger
from tilec.dialect.fields import MANY_RUNS, Mixed, Operand, OptionalRegion, Region, Result, TypeVariable, since
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import quote, spell_list

Bound = TypeVariable("Bound", ScalarInteger)


class IfOp(Operation, name="if", opcode=0x32):
    """The values of one of two branches."""

    results: Mixed[Result[AnyType], MANY_RUNS]
    condition: Operand[ScalarBool]
    then: Region
    else_: OptionalRegion

    def check_types(self) -> str | None:
        return carried_problem("result type", [value.type for value in self.results])

    def check_regions(self) -> str | None:
        expected = [value.type for value in self.results]
        if expected and not list(self.else_.blocks):
            return "has non-empty return type, must define else branch"
        for name, region in (("then", self.then), ("else", self.else_)):
            if list(region.blocks):
                problem = _branch_problem(name, region.blocks[0], expected)
                if problem is not None:
                    return problem
        return None


def _branch_problem(name: str, block: ir.Block, expected: list[ir.Type]) -> str | None:
    if len(block.arguments):
        return f"{name} branch must not have arguments"
    last = list(block.operations)[-1].operation
    if last.name != "cuda_tile.yield":
        return None
    yielded = [value.type for value in last.operands]
    if yielded == expected:
        return None
    if not yielded:
        return f"has return type of {spell_list(expected)} but {name} branch does not yield anything"
    if not expected:
        return f"does not return a value, but {name} branch yields {spell_list(yielded)}"
    return (
        f"{name} branch type does not match yield type, expected {spell_list(expected)} but got {spell_list(yielded)}"
    )


class ForOp(Operation, name="for", opcode=0x29):
    """Runs the body for lowerBound, lowerBound + step, .. below upperBound; results are the last carried values."""

    resultValues: Mixed[Result[AnyType], MANY_RUNS]
    lowerBound: Operand[Bound]
    upperBound: Operand[Bound]
    step: Operand[Bound]
    initValues: Mixed[Operand[AnyType], MANY_RUNS]
    unsignedCmp: Flag = since("13.2")
    body: Region

    induction_variable = property(lambda self: self.body.blocks[0].arguments[0])
    carried = property(lambda self: list(self.body.blocks[0].arguments)[1:])

    def check_types(self) -> str | None:
        initial, results = [v.type for v in self.operands][3:], [v.type for v in self.results]
        if initial != results:
            found = f"{spell_list(initial)} and {spell_list(results)}"
            return f"expects init types and result types to be equal, but got {found}"
        return carried_problem("loop-carried value", initial)

    def check_regions(self) -> str | None:
        block, initial = self.body.blocks[0], [value.type for value in self.operands][3:]
        arguments = [argument.type for argument in block.arguments]
        bound = self.lowerBound.type
        if not arguments or arguments[0] != bound:
            found = quote(arguments[0]) if arguments else "none"
            return f"expected induction variable to be same type as bounds and step: {quote(bound)}, but got {found}"
        return _arguments_problem(initial, arguments[1:])


class LoopOp(Operation, name="loop", opcode=0x41):
    """Repeats the body until a break, whose operands are the results."""

    resultValues: Mixed[Result[AnyType], MANY_RUNS]
    initValues: Mixed[Operand[AnyType], MANY_RUNS]
    body: Region

    carried = property(lambda self: list(self.body.blocks[0].arguments))

    def check_types(self) -> str | None:
        return carried_problem("loop-carried value", [v.type for v in self.operands]) or carried_problem(
            "result type", [v.type for v in self.results]
        )

    def check_regions(self) -> str | None:
        block = self.body.blocks[0]
        return _arguments_problem([v.type for v in self.operands], [v.type for v in block.arguments])


def _arguments_problem(initial: list[ir.Type], arguments: list[ir.Type]) -> str | None:
    if len(initial) != len(arguments):
        return f"mismatch in number of loop-carried values and defined values: {len(initial)} and {len(arguments)}"
    for index, (a, b) in enumerate(zip(initial, arguments, strict=True)):
        if a != b:
            return f"init value {index} and region iter_value {index} have different type: {quote(a)} and {quote(b)}"
    return None


class BreakOp(Operation, name="break", opcode=0x0A, traits=[ir.IsTerminatorTrait]):
    """Leaves the innermost loop with its results."""

    operands: Mixed[Operand[AnyType], MANY_RUNS]

    def check(self) -> str | None:
        problem = ancestor_problem(self, through=("cuda_tile.if",), to=("cuda_tile.loop",))
        if problem is not None:
            return problem
        loop = first_ancestor(self, ("cuda_tile.loop",))
        given, expected = [v.type for v in self.operands], [v.type for v in loop.results]
        if given != expected:
            found = f"{spell_list(given)} vs {spell_list(expected)}"
            return f"operand types must correspond to the parent loop result types: {found}"
        return None


class ContinueOp(Operation, name="continue", opcode=0x11, traits=[ir.IsTerminatorTrait]):
    """Starts the next iteration of the innermost loop with the values to carry."""

    operands: Mixed[Operand[AnyType], MANY_RUNS]

    def check(self) -> str | None:
        loops = ("cuda_tile.for", "cuda_tile.loop")
        problem = ancestor_problem(self, through=("cuda_tile.if",), to=loops)
        if problem is not None:
            return problem
        loop = first_ancestor(self, loops)
        is_for = loop.name == "cuda_tile.for"
        expected = [v.type for v in (loop.results if is_for else loop.operands)]
        given = [v.type for v in self.operands]
        if given != expected:
            types = "return types" if is_for else "iter_values"
            return (
                f"operand types must match the parent {'`for`' if is_for else '`loop`'} {types}: "
                f"{spell_list(expected)}, but found: {spell_list(given)}"
            )
        return None


class YieldOp(Operation, name="yield", opcode=0x6D, traits=[ir.IsTerminatorTrait, ext.Pure]):
    """Yields values to the parent operation."""

    operands: Mixed[Operand[AnyType], MANY_RUNS]

    def check(self) -> str | None:
        parents = ("cuda_tile.if", "cuda_tile.reduce", "cuda_tile.scan")
        parent = self.operation.parent
        if parent is not None and parent.operation.name not in parents:
            return f"expects parent op to be one of '{', '.join(parents)}'"
        return None


class ReturnOp(Operation, name="return", opcode=0x5C, traits=[ir.IsTerminatorTrait]):
    """Ends the kernel for this tile block."""

    operands: Mixed[Operand[AnyType], MANY_RUNS]

    def check(self) -> str | None:
        problem = ancestor_problem(self, through=("cuda_tile.if", "cuda_tile.loop"), to=("cuda_tile.entry",))
        if problem is not None:
            return problem
        if len(self.operands):
            return f"must not have operands in an entry, but has {spell_list([v.type for v in self.operands])}"
        return None
