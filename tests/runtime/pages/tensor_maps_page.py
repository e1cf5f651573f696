"""Writes docs/tensor_maps.md: the rules of tensor maps and of copies through them, each with its source and its test.

python tests/runtime/pages/tensor_maps_page.py
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from copy_rules import COPY_RULES
from kernel_rows import KERNEL_ROWS
from launch_rules import LAUNCH_RULES
from manual_parts import DIFFERENCES, MANUAL_PARTS
from tensor_map_cases import CASES, Case

from tilec.lowering.tma.rule import Rule
from tilec.lowering.tma.rules import ALL_RULES
from tilec.lowering.tma.tensor_map import KINDS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "tensor_maps.md"
RULE_TESTS = "tests/runtime/test_tensor_map_rules.py"
_RULE_TEST = "test_illegal_map_violates_its_rule"
COPY_TESTS = "tests"
HEAD = """# Tensor maps

A tensor map is the 128-byte object that TMA instructions (`cp.async.bulk.tensor`) read: a tensor in global memory, and
the part of it that one copy moves. Kernels of tilec make theirs at each launch. For PTX or CUDA of your own,
`tilec.tensor_map` has the three functions of the CUDA driver. They check each argument against the rules below, and
encode a map for the simulator, or with `backend="launch"` by the driver for a GPU.

`python tests/runtime/pages/tensor_maps_page.py` writes this page from the rules and their tests.

Kind *tiled* moves boxes of a tensor of 1 to 5 dimensions (PTX ISA 5.5.3). Dimension 0 is contiguous; strides are in
bytes, from dimension 1 on:

```python
import tilec as ct

matrix = {"element": ct.float16, "base": 0x7F0000000000, "extents": (256, 100), "strides": (512,)}
tiled = ct.tensor_map.encode_tiled(**matrix, box=(64, 32), swizzle="128B")
print(len(tiled))
```

```text
128
```

Kind *im2col* moves columns of pixels of images NWC, NHWC or NDHWC, as a convolution reads them (PTX ISA 5.5.4). For a
window of S taps, a dilation, and padding before and after the images, the corners along a dimension are
`-before` and `after - (S - 1) * dilation`, in the order W, H, D. The element stride is the stride of the convolution:

```python
images = {"element": ct.float16, "base": 0x7F0000000000, "extents": (64, 32, 30, 4), "strides": (128, 4096, 122880)}
column = {"channels_per_pixel": 64, "pixels_per_column": 128, "swizzle": "128B"}
im2col = ct.tensor_map.encode_im2col(**images, **column, lower=(-1, -1), upper=(-1, -1), element_strides=(1, 2, 2, 1))
```

The wide kinds *im2col_w* and *im2col_w128* move pixels along W and N alone, on compute capability 10.0 and later
(PTX ISA 5.5.5):

```python
wide = ct.tensor_map.encode_im2col_wide(**images, **column, lower=-1, upper=-1, mode="w", target="sm_100a")
try:
    ct.tensor_map.encode_im2col_wide(**images, **column, lower=-1, upper=-1, mode="w", target="sm_90a")
except ct.TileError as error:
    print(error)
```

```text
error: 'tensor_map.encode_im2col_wide', argument 'target': expected compute capability 10.0 or later for kind \
im2col_w, got sm_90a (CUDA driver API, cuTensorMapEncodeIm2colWide, compute capability)
```

## Rules of tensor maps

A rule without kinds holds for all four. The source is a parameter of a function of the CUDA driver API, a section of
the PTX ISA, or both: a map must satisfy both. A rule marked *unless unconfirmed* forbids values that neither defines;
`allow_unconfirmed=True` permits it. The tests are cases of `{tests}`,
which has a legal map beside each illegal one.

"""
COPY_HEAD = """
## Rules of copies

The simulator refuses a kernel with an instruction that violates one of these rules, or stops it there. Sections are
those of the PTX ISA, unless a row names another manual, and tests are in `{tests}`. `runtime/ptxsim/FIDELITY.md` lists
the behavior that NVIDIA does not document.

"""
LAUNCH_HEAD = """
## Launches

A kernel makes its maps from the arguments of each launch, and its base, extents and strides can violate a rule that
the compiler cannot check. `ct.launch` refuses none of these arguments: the property is one of the signature, by which
kernels are compiled, or the map is replaced. The other rules concern fields that the kernel fixes; its compiler checks
them and does not use TMA, with a remark, where they are violated. (`mode="im2col"`, `"w"` and `"w128"` of
`ct.im2col_view` demand TMA: the compiler reports an error where it cannot follow them.)

{rows}
A kernel that is compiled for a signature takes the arrays that its text admits ([signatures](signature.md)). The text
`?` admits a stride of 0, of which the compiler does not know: if the array has a tensor map, the launch reports an
error that states the signature to compile for. Tests are in `{tests}`.
"""
KERNEL_HEAD = """
## From a kernel

The compiler chooses these forms where they are legal. Where they are not, the kernel has the same result without them,
and a remark gives the reason. Tests are in `{tests}`; each compares the interpreter and the simulator with numpy.

"""
MANUAL_HEAD = """
## Tables, examples and figures of PTX ISA 5.5

"""
DIFFERENCES_HEAD = """
The text of the manual differs from its figures and from the hardware in these statements:

"""


def page() -> str:
    """The text of the page; raises LookupError if a test does not exist or does not contain its message."""
    require_tests(f"{RULE_TESTS}::{_RULE_TEST}[{case.name}]" for case in _cases().values())
    require_tests(f"{COPY_TESTS}/{test}" for test in _copy_tests())
    require_tests(f"{COPY_TESTS}/{test}" for row in LAUNCH_RULES for test in row.tests)
    require_tests(f"{COPY_TESTS}/{test}" for row in KERNEL_ROWS for test in row.tests)
    for row in COPY_RULES:
        require_message(ROOT / COPY_TESTS / row.test.partition("::")[0], row.message)
    parts = [HEAD.replace("{tests}", f"{RULE_TESTS}::{_RULE_TEST}"), _map_rules()]
    parts.append(LAUNCH_HEAD.replace("{tests}", COPY_TESTS).replace("{rows}", _launch_rules()))
    parts += [KERNEL_HEAD.replace("{tests}", COPY_TESTS), _kernel_rows()]
    parts += [COPY_HEAD.replace("{tests}", COPY_TESTS), _copy_rules(), MANUAL_HEAD, _manual_parts()]
    parts += [DIFFERENCES_HEAD, _differences()]
    return "".join(parts)


def require_tests(names: Iterable[str]) -> None:
    """Raises LookupError for a name that pytest does not collect.

    A name without parameters stands for all of them, and `test[a]` for each whose parameters are or begin with a.
    """
    wanted = set(names)
    found = _collected(tuple(sorted({name.partition("::")[0] for name in wanted})))
    missing = [name for name in sorted(wanted) if not any(_stands_for(name, each) for each in found)]
    if missing:
        raise LookupError(f"tests that do not exist: {', '.join(missing)}")


@functools.cache
def _collected(files: tuple[str, ...]) -> list[str]:
    """The names of the tests in files."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()


def _stands_for(name: str, collected: str) -> bool:
    return collected == name or collected.startswith((f"{name}[", f"{name.removesuffix(']')}-"))


def require_message(file: Path, message: str) -> None:
    """Raises LookupError if the file does not contain the message."""
    if message not in file.read_text():
        raise LookupError(f"{file.relative_to(ROOT)} does not contain '{message}'")


def _copy_tests() -> list[str]:
    return [row.test for row in COPY_RULES] + [test for part in (*MANUAL_PARTS, *DIFFERENCES) for test in part.tests]


def _cases() -> dict[str, Case]:
    """The first case of each rule."""
    return {case.rule: case for case in reversed(CASES)}


def _map_rules() -> str:
    cases = _cases()
    rows = [
        [_described(rule), _sources(rule, case), _message(case), f"`{case.name}`"]
        for rule, case in ((rule, cases[rule.name]) for rule in ALL_RULES)
    ]
    return table(["rule", "source", "message", "test"], rows)


def _described(rule: Rule) -> str:
    kinds = "" if set(rule.kinds) == set(KINDS) else f" ({', '.join(rule.kinds)})"
    return rule.statement.removesuffix(".") + kinds + (", unless unconfirmed" if rule.undocumented else "")


def _sources(rule: Rule, case: Case) -> str:
    return rule.source(case.illegal.kind, case.field).replace("CUDA driver API, ", "")


def _message(case: Case) -> str:
    return f"expected {case.expected}, got {case.found}"


def _copy_rules() -> str:
    rows = [[row.rule, row.section, row.message, f"`{row.test}`"] for row in COPY_RULES]
    return table(["rule", "section", "message", "test"], rows)


def _launch_rules() -> str:
    statements = {rule.name: rule.statement.removesuffix(".") for rule in ALL_RULES}
    rows = [
        [statements[row.rule], row.arguments, row.instead, ", ".join(f"`{test}`" for test in row.tests)]
        for row in LAUNCH_RULES
    ]
    return table(["rule", "arguments", "what a launch does instead", "tests"], rows)


def _kernel_rows() -> str:
    rows = [
        [row.section, row.form, row.source, row.limits, ", ".join(f"`{test}`" for test in row.tests)]
        for row in KERNEL_ROWS
    ]
    return table(["section", "form", "source", "limits", "tests"], rows)


def _manual_parts() -> str:
    rows = [[part.section, part.content, ", ".join(f"`{test}`" for test in part.tests)] for part in MANUAL_PARTS]
    return table(["section", "content", "tests"], rows)


def _differences() -> str:
    rows = [
        [each.section, each.statement, each.right, ", ".join(f"`{test}`" for test in each.tests)]
        for each in DIFFERENCES
    ]
    return table(["section", "the manual", "what is right", "tests"], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


if __name__ == "__main__":
    PAGE.write_text(page())
