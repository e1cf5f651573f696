"""Output and assertions of a running kernel."""

from tilec.dialect.attributes import Flag, Text
from tilec.dialect.fields import MANY_RUNS, Mixed, Operand
from tilec.dialect.print_format import Directive, parse_format
from tilec.dialect.tile_gpu.interface import Category, Interface
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Anything, is_register_tile


class AssertOp(Operation, name="assert"):
    """Stops the kernel with an error that has the message if an element of the condition is false.

    With `each_warp` each warp that holds a false element stops here, else only one warp.
    """

    interface = Interface(Category.DEBUG, calls=True)
    condition: Operand[Anything]
    message: Text
    each_warp: Flag
    assembly = "$condition, $message{ $each_warp} attr-dict : type($condition)"

    def check(self) -> str | None:
        type = self.condition.type
        element = type.element_type if is_register_tile(type) else type
        return None if str(element) == "i1" else f"expected a condition of i1, but got {type}"


class PrintOp(Operation, name="print"):
    """Prints the format, whose directives print the elements of one scalar or register tile each, row by row."""

    interface = Interface(Category.DEBUG, calls=True)
    args: Mixed[Operand[Anything], MANY_RUNS]
    format: Text
    assembly = "$format{, $args} attr-dict{ : type($args)}"

    def check(self) -> str | None:
        try:
            parts = parse_format(self.format)
        except ValueError as error:
            return str(error)
        count = sum(isinstance(part, Directive) for part in parts)
        if count == len(self.args):
            return None
        return f"expected {count} operands for the directives of the format, but got {len(self.args)}"
