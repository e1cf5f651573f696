"""Time to read and verify a kernel of 5,000 operations: `python benchmarks/parse.py [operations]`; goal 0.25 s."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from tilec.dialect.assembly.reader import read_module
from tilec.dialect.mlir import context, ir
from tilec.text_input.module import Module

_REPEATS = 5
_STEP = (
    "    %f{n} = addf %f{m}, %c rounding<zero> : tile<4x2xf32>",
    "    %g{n} = cmpf less_than ordered %f{n}, %c : tile<4x2xf32> -> tile<4x2xi1>",
    "    %h{n} = select %g{n}, %f{n}, %c : tile<4x2xi1>, tile<4x2xf32>",
    "    %v{n}, %t{n} = load_view_tko weak %pview[%x, %y] token = %t{m} : {view}, tile<i32> -> tile<4x2xf32>, token",
    "    %u{n} = store_view_tko weak %v{n}, %pview[%x, %y] token = %t{n} : tile<4x2xf32>, {view}, tile<i32> -> token",
)
_TENSOR = "tensor_view<64x64xf32, strides=[64,1]>"
_VIEW = f"partition_view<tile=(4x2), {_TENSOR}>"


def kernel(operations: int) -> str:
    """A kernel without control flow: arithmetic, comparisons, loads and stores."""
    lines = [
        "cuda_tile.module @kernels {",
        "  entry @k(%p: tile<ptr<f32>>) {",
        "    %c = constant <f32: 1.0> : tile<4x2xf32>",
        "    %f0 = constant <f32: 2.0> : tile<4x2xf32>",
        "    %t0 = make_token : token",
        "    %x, %y, %z = get_tile_block_id : tile<i32>",
        f"    %tview = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : {_TENSOR}",
        f"    %pview = make_partition_view %tview : {_VIEW}",
    ]
    for n in range(1, operations // len(_STEP) + 1):
        lines += [line.format(n=n, m=n - 1, view=_VIEW) for line in _STEP]
    return "\n".join([*lines, "    return", "  }", "}", ""])


def best(work: Callable[[], object]) -> float:
    """The minimum processor time of several runs in seconds, which other processes on the machine affect least."""
    times = []
    for _ in range(_REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def operations_of_command_line(description: str | None) -> int:
    """The number of operations that the command line gives: a multiple of those of a step is written."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="?", type=int, default=5000, help="of the kernel (default: %(default)s)")
    found = int(parser.parse_args().operations)
    if found < len(_STEP):
        parser.error(f"argument operations: expected at least {len(_STEP)}, got {found}")
    return found


def main() -> None:
    operations = operations_of_command_line(__doc__)
    text = kernel(operations)
    module = Module.parse(text)
    generic = module.to_text(generic=True)
    with context():
        rows = {
            "read": best(lambda: read_module(text)),
            "verify": best(module.verify),
            "print": best(module.to_text),
            "MLIR: read and verify the generic form": best(lambda: ir.Module.parse(generic)),
        }
    rows["read and verify"] = best(lambda: Module.parse(text))
    print(f"{operations} operations, {len(text)} characters")
    for name, seconds in rows.items():
        print(f"{name:40} {seconds * 1e3:8.1f} ms {seconds / operations * 1e6:6.1f} us per operation")


if __name__ == "__main__":
    main()
