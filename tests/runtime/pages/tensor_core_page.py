"""Writes docs/tensor_core.md: the tensor cores of sm_100a, each part with its kernel, its PTX, a drawing and its tests.

python tests/runtime/pages/tensor_core_page.py
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "ptxsim"))
sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))
sys.path.insert(0, str(Path(__file__).parents[1]))
import stationary_convolution
from ptx_instructions import instructions
from tensor_core_forms import FORMS, STATIONARY_DIFFERS, STATIONARY_TESTS
from tensor_core_kernels import PROGRAMS, compiled
from tensor_core_rows import CONVOLUTION, SHAPES, TENSOR_MEMORY, Excerpt, Part, program_test
from tensor_maps_page import require_tests, table

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "tensor_core.md"
KERNELS = TESTS / "kernels" / "tensor_core_kernels.py"
STATIONARY = "convolution stationary"
# Columns of a paragraph.
WIDTH = 120
HEAD = """# Tensor cores

The tensor cores of sm_100a, part by part: the algorithms, tables, figures and examples of *Blackwell SM_100a Tensor
Core Architecture* (February 2025), with the kernel that reaches a part, the PTX that the kernel becomes, and the tests
that run it. A part that no kernel reaches says so: the simulator executes its instructions. Where the text differs from
the hardware or from PTX ISA 9.7.16, the part lists what is right.

PTX is shown without guards, with registers numbered from 1 in each instruction, and without the middle of long lists.
Each instruction is shown once, with the `sm_90a` ones where a part has them. Paths of tests are in `tests`.

`python tests/runtime/pages/tensor_core_page.py` writes this page from the kernels of
`tests/kernels/tensor_core_kernels.py`.

```python
import tilec as ct

Const = ct.Constant[int]
```
"""
FORMS_TEXT = """### Table 9: forms of a multiply for convolutions

```{code-block} text
tcgen05.mma.kind.collector        [d], a-desc, b-desc, idesc, {disable-output-lane}, enable-input-d, scale-input-d
tcgen05.mma.kind.ashift.collector [d], [a], b-desc, idesc, {disable-output-lane}, enable-input-d, scale-input-d
tcgen05.mma.ws.kind.collector     [d], a-desc or [a], b-desc, idesc, enable-input-d, zero-column-mask
```

"""
STATIONARY_TEXT = """### Algorithm 3b: activations stay in tensor memory

The corrected algorithm, for a stride and a dilation of 1 along W and as many outputs in a row as images have pixels
(Q = W). A tile is 128 outputs of row p of all images, numbered along W first. `W`, `pad` and `S` are the width, the
padding on the left and the taps:

```{code-block} text
tcgen05.st                 d = 0                                    lanes that the first multiply disables stay 0
for r, and for c in steps of 32 bytes of channels:
    im2col::w::128         run = 128 pixels from q0 - pad on,       wHalo = S - 1: after row 127 of the run, four rows
                           of image row p + r - pad_h               for each tap after the first one
    tcgen05.cp.128x256b    a = rows 0 to 127 of run                 8 columns
    for s in 0 to S - 1:
        mask               bit i = 1 if q(i) + s - pad < 0 or >= W  not needed where TMA has filled the lane with zeros
        tcgen05.mma        d += a * filters[r, s, c], mask          each lane that is not disabled
        if s < S - 1:
            tcgen05.shift.down    a[i] = a[i + 1]                   in each 32 lanes; or .ashift on the multiply
            tcgen05.cp.4x256b     a[31, 63, 95, 127] = rows 128 + 4 s to 131 + 4 s of run
tcgen05.commit; tcgen05.ld: the outputs of d
```

PTX orders the multiply, the shift, the copy of four rows and the next multiply of one thread without a wait; after
`.ashift` the copy needs a commit and a wait, or a shift between. The order of the rows of the halo is not documented,
so that the simulator needs `allow_unconfirmed`. The instructions of the test, which PTX written by hand has in this
order:

"""
REACHED = """A kernel becomes this listing with `mode="stationary"` and the hint `allow_unconfirmed`. It stores
its outputs through a view of mode `w128`. With `num_ctas=2` a tile has 256 outputs, 128 in each CTA, and each CTA loads
a part of the filters for both:

"""
NOT_REACHED = """No kernel becomes this listing: it is PTX written by hand. Kernels have algorithm 3, `mode="run"`,
which loads each pixel once as well, and reads the rows of the taps by threads.

"""


def page() -> str:
    """The text of the page; raises LookupError if a test does not exist."""
    require_tests(f"tests/{test}" for test in _all_tests())
    shown: set[str] = set()
    parts = [HEAD]
    for title, group in (("Tensor memory", TENSOR_MEMORY), ("Convolution", CONVOLUTION)):
        parts += [f"\n## {title}\n", *(_part(part, shown) for part in group)]
    parts += ["\n", _forms(), "\n", _stationary(), "\n## Shapes and types\n"]
    parts += [_part(part, shown) for part in SHAPES]
    return "".join(parts)


def _all_tests() -> Iterator[str]:
    for part in (*TENSOR_MEMORY, *CONVOLUTION, *SHAPES):
        yield from part.tests
        for row in part.rows:
            yield from row.tests
    for *_, tests in FORMS:
        yield from tests
    yield from _tests_of_stationary()


def _tests_of_stationary() -> tuple[str, ...]:
    return (*STATIONARY_TESTS, *([program_test(STATIONARY)] if STATIONARY in PROGRAMS else []))


def _part(part: Part, shown: set[str]) -> str:
    text = [f"\n### {part.title}\n\n{textwrap.fill(part.text, WIDTH, break_on_hyphens=False)}\n"]
    if part.drawing:
        text.append(_block(part.drawing))
    for kernel in part.kernels:
        assert kernel not in shown, kernel
        shown.add(kernel)
        text.append(f"\n```python\n{source(kernel)}\n```\n")
    for excerpt in part.excerpts:
        text.append(_block("\n".join(lines_of(excerpt))))
    if part.rows:
        text += ["\n", _rows(part)]
    if part.tests:
        text.append(f"\nTests: {_tests(part.tests)}.\n")
    return "".join([*text, _differs(part.differs)])


def _differs(differs: Iterable[tuple[str, str]]) -> str:
    lines = table(["the text", "what is right"], differs)
    return f"\n{lines}" if lines.count("\n") > 2 else ""


def _rows(part: Part) -> str:
    rows = []
    for row in part.rows:
        lines = lines_of(row.excerpt) if row.excerpt else []
        shown = f"`{lines[0]}`" if lines else "in the tests"
        rows.append([*row.cells, shown, _tests(row.tests)])
    return table([*part.columns, "PTX", "tests"], rows)


def _forms() -> str:
    rows = [[form, effect, kernels, _tests(tests)] for form, effect, kernels, tests in FORMS]
    return FORMS_TEXT + table(["form", "effect", "kernels that have it", "tests"], rows)


def _stationary() -> str:
    by_hand = stationary_convolution.operations(stationary_convolution.steps(0), 1)
    names = ("cp.async.bulk.tensor", "tcgen05.cp", "tcgen05.mma", "tcgen05.shift")
    text = [STATIONARY_TEXT, _block("\n".join(excerpt(by_hand, names))).lstrip("\n"), "\n"]
    if STATIONARY in PROGRAMS:
        found = lines_of(Excerpt(STATIONARY, ("cp.async.bulk.tensor.4d.shared::cta.global", *names[1:])))
        text += [REACHED, _block("\n".join(found)).lstrip("\n")]
    else:
        text.append(NOT_REACHED.rstrip("\n") + "\n")
    return "".join([*text, f"\nTests: {_tests(_tests_of_stationary())}.\n", _differs(STATIONARY_DIFFERS)])


def _block(text: str) -> str:
    return f"\n```{{code-block}} text\n{text}\n```\n"


def _tests(tests: Iterable[str]) -> str:
    return ", ".join(f"`{test}`" for test in tests)


def source(kernel: str) -> str:
    """The text of a kernel of KERNELS, with its decorator."""
    found = re.search(rf"^@ct\.kernel\ndef {kernel}\(.*?(?=\n\n\n|\Z)", KERNELS.read_text(), re.MULTILINE | re.DOTALL)
    if found is None:
        raise LookupError(f"{KERNELS.name} has no kernel '{kernel}'")
    return found[0].rstrip()


def lines_of(wanted: Excerpt) -> list[str]:
    """The instructions of a program that an excerpt shows; raises LookupError if one of its names has none."""
    return excerpt(compiled(wanted.program, wanted.target).ptx, wanted.names)


def excerpt(ptx: str, names: Iterable[str]) -> list[str]:
    """The instructions that begin with one of the names, in order, each once; raises LookupError for a name of none."""
    parts = [" ".join(part.split()) for part in "\n".join(instructions(ptx)).split(";")]
    statements = [re.sub(r"^(\$?\w+:\s+)*(@!?%p\d+\s+)?", "", part) for part in parts]
    found: dict[str, None] = {}
    missing = set(names)
    for statement in map(_renumbered, statements):
        for name in names:
            if statement.startswith(name):
                found[statement + ";"] = None
                missing.discard(name)
    if missing:
        raise LookupError(f"no instruction begins with {', '.join(sorted(missing))}")
    return list(found)


def _renumbered(statement: str) -> str:
    """A statement with its registers numbered from 1, and with the ends of lists of more than four."""
    names: dict[str, str] = {}

    def renamed(register: re.Match[str]) -> str:
        others = [name for name in names if name.rstrip("0123456789") == register[1]]
        return names.setdefault(register[0], f"{register[1]}{len(others) + 1}")

    short = re.sub(r"\{([^,}]+), [^}]*, ([^,}]+)\}", _short_list, statement)
    return re.sub(r"(%[a-z]+)\d+", renamed, short)


def _short_list(found: re.Match[str]) -> str:
    return found[0] if found[0].count(",") < 5 else f"{{{found[1]}, .., {found[2]}}}"


if __name__ == "__main__":
    PAGE.write_text(page())
