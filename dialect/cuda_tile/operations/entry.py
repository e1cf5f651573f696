"""Kernels, globals, and where a tile block stands in the grid."""

from tilec.dialect.attributes import Array, Elements, Flag, Int64, OneType, Symbol
from tilec.dialect.cuda_tile.attributes import Hints
from tilec.dialect.cuda_tile.element import EXTENSION_FLOATS, NUMBERS
from tilec.dialect.cuda_tile.enums import Visibility
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.scope_rules import global_scope_problem, kernel_scope_problem
from tilec.dialect.cuda_tile.sets import ScalarInt32, ScalarPointer
from tilec.dialect.cuda_tile.types import TileType, type_problem
from tilec.dialect.fields import Region, Result, since
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import quote, spell, spell_list


class EntryOp(Operation, name="entry", opcode=0x16, traits=[ir.IsIsolatedFromAboveTrait]):
    """A kernel: its body runs once for each tile block of the grid."""

    sym_name: Symbol
    function_type: OneType
    arg_attrs: Array | None
    res_attrs: Array | None
    optimization_hints: Hints | None
    body: Region

    def check(self) -> str | None:
        function = self.function_type
        if not isinstance(function, ir.FunctionType):
            return f"attribute 'function_type' must be a function type, but got {quote(function)}"
        if function.results:
            return f"entry must not have results, but has {spell_list(function.results)}"
        for index, argument in enumerate(function.inputs):
            broken = isinstance(argument, TileType) and type_problem(argument)
            if broken:
                return f"argument #{index} has an invalid type: {broken}"
            if not isinstance(argument, TileType) or argument.shape:
                return f"argument #{index} must be a 0-d tile, but got {quote(argument)}"
            element = spell(argument.element)
            if element in EXTENSION_FLOATS:
                instead = f"Tile IR, which has no {element}: use f8E4M3FN, which has all of its values"
                return f"argument #{index} must be a number of {instead}"
        if self.arg_attrs is not None and len(self.arg_attrs) != len(function.inputs):
            return f"expects one dictionary an argument ({len(function.inputs)}), but got {len(self.arg_attrs)}"
        for index, attributes in enumerate(self.arg_attrs or ()):
            if not isinstance(attributes, ir.DictAttr):
                return f"expects a dictionary of attributes for argument #{index}, but got {attributes}"
            foreign = next((each.name for each in attributes if "." not in each.name), None)
            if foreign is not None:
                return f"argument #{index} may only have attributes of a dialect (`dialect.name`), but has '{foreign}'"
        if self.res_attrs is not None and len(self.res_attrs):
            return f"must not have result attributes, because it has no results, but got {self.res_attrs}"
        return None

    def check_location(self, location: ir.Location) -> str | None:
        return kernel_scope_problem(self.sym_name, location)

    def check_regions(self) -> str | None:
        block = self.body.blocks[0]
        arguments = [argument.type for argument in block.arguments]
        if arguments != list(self.function_type.inputs):
            return f"expects region arguments {spell_list(self.function_type.inputs)}, but got {spell_list(arguments)}"
        last = block.operations[-1].operation.name
        if last != "cuda_tile.return":
            return f"expects the body to end in 'cuda_tile.return', but got '{last}'"
        return None


class GlobalOp(Operation, name="global", opcode=0x31):
    """An initialized array in global memory with the lifetime of the loaded module."""

    sym_name: Symbol
    value: Elements
    alignment: Int64 = 0
    symbol_visibility: Visibility = since("13.3", default="public")
    constant: Flag = since("13.3")
    assembly = "{ $symbol_visibility}{ $constant} $sym_name{ alignment = $alignment} attr-dict elements($value)"

    def check(self) -> str | None:
        stored = ir.RankedTensorType(self.value.type)
        if stored.rank != 1:
            return f"type of value must have rank 1, but got rank {stored.rank}"
        if spell(stored.element_type) not in NUMBERS:
            return f"elements must be numbers, but got {spell(stored.element_type)}"
        if self.alignment < 0 or self.alignment & (self.alignment - 1):
            return f"alignment must be zero or a power of two, but got {self.alignment}"
        return None

    def check_location(self, location: ir.Location) -> str | None:
        return global_scope_problem(location)


class GetGlobalOp(Operation, name="get_global", opcode=0x2C, traits=[ext.Pure]):
    """A pointer to the first element of a global."""

    result: Result[ScalarPointer]
    name_: Symbol
    assembly = "$name attr-dict : type($result)"

    def check(self) -> str | None:
        found = _global(self.operation, self.name_)
        if found is None:
            return f"'{self.name_}' does not name a global of the module"
        element, pointee = ir.RankedTensorType(found.value.type).element_type, self.result.type.element.element
        if element != pointee:
            wanted = f"a pointer to {spell(element)}, the element of '{self.name_}'"
            return f"expects {wanted}, but got {quote(self.result.type)}"
        return None


def _global(operation: ir.Operation, name: str) -> GlobalOp | None:
    module = operation.parent
    while module is not None and module.operation.name != "builtin.module":
        module = module.operation.parent
    for each in () if module is None else module.operation.regions[0].blocks[0].operations:
        if isinstance(each, GlobalOp) and each.sym_name == name:
            return each
    return None


class GetTileBlockIdOp(Operation, name="get_tile_block_id", opcode=0x30, traits=[ext.Pure]):
    """The coordinates of this tile block in the grid."""

    x: Result[ScalarInt32]
    y: Result[ScalarInt32]
    z: Result[ScalarInt32]
    assembly = "attr-dict : type($x)"


class GetNumTileBlocksOp(Operation, name="get_num_tile_blocks", opcode=0x2E, traits=[ext.Pure]):
    """The extents of the grid; axes omitted by a launch have extent one."""

    x: Result[ScalarInt32]
    y: Result[ScalarInt32]
    z: Result[ScalarInt32]
    assembly = "attr-dict : type($x)"
