"""A kernel whose multiply reads operand A from tensor memory, which threads fill in each iteration of a loop."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.dialect.mlir import passmanager
from tilec.lowering.gpu_to_ptx.kernel import convert
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.tensor_layout import TensorLayout
from tilec.lowering.ptx.emit import emit
from tilec.text_input.stage_module import read_stage_module

COLUMNS = 64
PRODUCE = """
  %slot = tile_gpu.put_begin %left : !left_ring
  tile_gpu.store_tensor_memory %x, %slot : !left -> !left_slot
  tile_gpu.put_commit %left : !left_ring
  %other = tile_gpu.put_begin %right : !right_ring
  tile_gpu.store_shared %y, %other : !right -> !right_slot
  tile_gpu.put_commit %right : !right_ring
"""
MULTIPLY = """
  %a = tile_gpu.get %left consumer 0 : !left_ring
  %b = tile_gpu.get %right consumer 0 : !right_ring
  %more = arith.cmpi sgt, %i, %zero : i32
  tile_gpu.tcgen05_mma {kind} {signs}%a, %b into %sum accumulate %more : !left_slot, !right_slot -> !sum_slot
  tile_gpu.release %left consumer 0 : !left_ring
  tile_gpu.release %right consumer 0 : !right_ring
"""
RESULT = """
  %total = tile_gpu.get %sums consumer 0 : !sum_ring
  %t = tile_gpu.load_tensor_memory %total : !sum_slot -> !sum
  tile_gpu.release %sums consumer 0 : !sum_ring
  tile_gpu.store_view %t -> %r[%zero, %zero] extents [%rows, %columns] strides [%columns, %one] vector 1 : !sum
"""
ONE_ROLE = """
  %sum = tile_gpu.put_begin %sums : !sum_ring
  scf.for %i = %zero to %n step %one : i32 {{
    {load}{produce}{multiply}
  }}
  tile_gpu.put_commit %sums : !sum_ring
  {result}
"""
TWO_ROLES = """
  tile_gpu.roles compute warps {warps} {{
    scf.for %i = %zero to %n step %one : i32 {{
      {load}{produce}
    }}
    {result}
  }} mma warps 1 {{
    %sum = tile_gpu.put_begin %sums : !sum_ring
    scf.for %i = %zero to %n step %one : i32 {{
      {multiply}
    }}
    tile_gpu.put_commit %sums : !sum_ring
  }}
"""


@dataclass(frozen=True)
class Product:
    """R = A B, where A has `rows` rows and B 64 columns, in steps of 128 bytes along K."""

    element: str
    accumulator: str
    element_bytes: int
    rows: int = 128
    warps: int = 4
    stages: int = 2
    roles: bool = True
    kind: str = ""
    signs: str = ""

    @property
    def depth(self) -> int:
        """The elements of one step along K."""
        return 128 // self.element_bytes

    @property
    def text(self) -> str:
        """The module: %p is A and %q is B, row-major, %r is R, and %n the number of steps."""
        lanes = 64 if self.rows == 64 else 128
        left = TensorLayout((self.rows, self.depth), self.element_bytes, lanes, packed=True)
        total = TensorLayout((self.rows, COLUMNS), 4, lanes)
        right = blocked((self.depth, COLUMNS), self.warps, 1, 4)
        body = (TWO_ROLES if self.roles else ONE_ROLE).format(
            warps=self.warps,
            load=self._load,
            produce=PRODUCE,
            multiply=MULTIPLY.format(kind=self.kind or self.element, signs=self.signs),
            result=RESULT,
        )
        operands = f"stages {self.stages} producer threads consumers [mma] reuse ring"
        return f"""
!left = tensor<{self.rows}x{self.depth}x{self.element}, "{left.registers(self.warps)}">
!left_slot = buffer<{self.rows}x{self.depth}x{self.element}, tensor, {left}>
!left_ring = channel<[!left_slot]>
!right = tensor<{self.depth}x{COLUMNS}x{self.element}, "{right}">
!right_slot = buffer<{self.depth}x{COLUMNS}x{self.element}, shared, contiguous=0 swizzle=128B>
!right_ring = channel<[!right_slot]>
!sum = tensor<{self.rows}x{COLUMNS}x{self.accumulator}, "{total.registers(self.warps)}">
!sum_slot = buffer<{self.rows}x{COLUMNS}x{self.accumulator}, tensor, {total}>
!sum_ring = channel<[!sum_slot]>
tile_gpu.kernel @k(%p: i64, %q: i64, %r: i64, %n: i32) target "sm_100a" warps {self.warps} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = arith.constant {self.rows} : i32
  %columns = arith.constant {COLUMNS} : i32
  %step = arith.constant {self.depth} : i32
  %depth = arith.muli %n, %step : i32
  %left = tile_gpu.make_channel {operands} : !left_ring
  %right = tile_gpu.make_channel {operands} : !right_ring
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : !sum_ring
  {body}
}}
"""

    @property
    def _load(self) -> str:
        return """
  %k = arith.muli %i, %step : i32
  %x = tile_gpu.load_view %p[%zero, %k] extents [%rows, %depth] strides [%depth, %one] vector 1 padding "zero" : !left
  %y = tile_gpu.load_view %q[%k, %zero] extents [%depth, %columns] strides [%columns, %one] vector 1 padding "zero"
    : !right
"""

    def ptx(self) -> str:
        """The kernel `k` in PTX."""
        return self.ptx_of(self.text)

    @staticmethod
    def ptx_of(text: str) -> str:
        """The PTX of such a text."""
        module = convert(read_stage_module(text, "k.mlir"))
        with module.context:
            passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
            return emit(module)
