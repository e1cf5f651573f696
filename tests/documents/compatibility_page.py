"""Writes docs/compatibility.md: each public name of cuTile Python, its members and parameters, beside those of tilec.

python tests/documents/compatibility_page.py
"""

from __future__ import annotations

import importlib
import inspect
import json
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from public_surface import DATA, Entry, describe

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
# Modules of tilec that have the public names of a module of cuTile Python, apart from classes that are not exported.
NOT_EXPORTED = {"RawArrayMemory": "tilec.language.operations.raw_memory"}
HEADINGS = {"function": "Functions", "class": "Classes", "enumeration": "Enumerations", "exception": "Errors"}
HEAD = """# Compatibility with cuTile Python

`python tests/documents/compatibility_page.py` writes this page from the public surface of cuTile Python {version}
(`tests/documents/cutile_surface.json`) and that of tilec.

`import tilec as ct` replaces `import cuda.tile as ct`. A program that cannot be changed runs with `tilec.compat`:

```python double.py
import sys

import cuda.tile as ct
import numpy as np


@ct.kernel
def double(x, tile: ct.Constant[int]):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2)


x = np.arange(int(sys.argv[1]), dtype=np.float32)
ct.launch(None, (ct.cdiv(x.size, 4),), double, (x, 4))
print(x)
```

```sh
python -m tilec.compat double.py 8
```

```text
[ 0.  2.  4.  6.  8. 10. 12. 14.]
```

`python -m tilec.compat -m MODULE` and `-c CODE` run a module and code, with arguments that follow. A program can also
call `tilec.compat.install()` before its first import of `cuda.tile`. In both cases imports of `cuda.tile`,
`cuda.tile.compilation`, `cuda.tile.tune` and `cuda.tile.jax` import tilec; other packages below `cuda`, such as
`cuda.bindings`, remain importable. Private modules of cuTile Python, whose names start with `_`, raise
ModuleNotFoundError, but for names that programs use: the public names in the modules that define them (`_datatype`,
`_exception`, `_execution`, `_memory_model`, `_numeric_semantics`, `_stub`), and those by which programs ask what they
can run (`_cext`, `_bytecode`, `_compile`). Kernels have `_pyfunc`.

* *same*: tilec has the name with all its parameters, and with their defaults.
* *extended*: tilec has all this and more, which is listed.
* *missing*: a name, a parameter or a default that tilec lacks.

Errors have the class that cuTile Python raises, and messages of tilec. Arguments may also be host arrays, because the
interpreter and the simulator run kernels on the CPU.
"""


@dataclass(frozen=True)
class Row:
    """One public name or member, its parameters as Python writes them, and what tilec lacks or has in addition."""

    name: str
    parameters: str
    missing: tuple[str, ...]
    more: tuple[str, ...]

    @property
    def status(self) -> str:
        if self.missing:
            return f"missing: {', '.join(self.missing)}"
        return f"extended: {', '.join(self.more)}" if self.more else "same"


def rows(name: str, expected: Entry, found: Entry | None) -> Iterator[Row]:
    """The row of a name and the rows of its members."""
    parameters = _signature(expected.get("parameters"))
    if found is None:
        yield Row(name, parameters, ("all",), ())
        return
    theirs, ours = expected.get("members", {}), found.get("members", {})
    is_open = expected["kind"] in ("class", "enumeration") and expected["kind"] == found["kind"]
    more = [f"`{each}`" for each in ours if each not in theirs and not each.startswith("__")] if is_open else []
    yield Row(name, parameters, tuple(_missing(expected, found)), (*_more(expected, found), *more))
    for member, inner in theirs.items():
        if member in ours or not member.startswith("__"):
            yield from rows(f"{name}.{member}", inner, ours.get(member))
        else:
            yield Row(f"{name}.{member}", "", ("all",), ())


def _missing(expected: Entry, found: Entry) -> Iterator[str]:
    # A class without members is used as a function.
    alike = expected["kind"] == "class" and not expected["members"] and found["kind"] == "function"
    if expected["kind"] not in ("value", found["kind"]) and not alike:
        yield f"is a {expected['kind']}"
        return
    theirs, ours = expected.get("parameters", {}), found.get("parameters", {})
    by_position = [name for name in ours if ours[name][0].startswith("positional")]
    is_open = {kind for kind, _ in ours.values()} & {"variadic keyword"}
    for position, (name, (kind, default)) in enumerate(theirs.items()):
        if kind == "positional-only" and position < len(by_position):
            name = by_position[position]
        if name not in ours:
            if not (is_open and kind in ("keyword-only", "variadic keyword")):
                yield f"`{name}`"
        elif default not in (ours[name][1], "required", "unspecified"):
            yield f"`{name}={default}`"
        elif kind == "positional or keyword" and ours[name][0] != kind:
            yield f"`{name}` as {'a keyword' if ours[name][0].startswith('positional') else 'a position'}"


def _more(expected: Entry, found: Entry) -> Iterator[str]:
    theirs, ours = expected.get("parameters"), found.get("parameters")
    if theirs is None or ours is None or expected["kind"] not in ("function", "class"):
        return
    positions = sum(1 for kind, _ in theirs.values() if kind == "positional-only")
    for position, (name, (kind, _)) in enumerate(ours.items()):
        if name not in theirs and not (kind.startswith("positional") and position < positions) and name != "hints":
            yield f"`{name}`"


def _signature(parameters: dict[str, list[str]] | None) -> str:
    if parameters is None:
        return ""
    kinds = {kind.description: kind for kind in map(inspect._ParameterKind, range(5))}
    listed = [inspect.Parameter(name, kinds[kind]) for name, (kind, _) in parameters.items()]
    return str(inspect.Signature(listed))


def _ours(path: str) -> Entry | None:
    """The description of the name of tilec that stands for a name of cuTile Python."""
    module, _, name = path.rpartition(".")
    where = NOT_EXPORTED.get(path) or f"tilec.{module}".rstrip(".")
    try:
        return describe(getattr(importlib.import_module(where), name))
    except (ModuleNotFoundError, AttributeError):
        return None


def compared() -> dict[str, list[Row]]:
    """The rows by section."""
    sections: dict[str, list[Row]] = {}
    for path, expected in json.loads(DATA.read_text())["names"].items():
        module = path.rpartition(".")[0]
        heading = f"cuda.tile.{module}" if module else HEADINGS.get(expected["kind"], "Types and annotations")
        sections.setdefault(heading, []).extend(rows(path, expected, _ours(path)))
    return sections


def added() -> list[str]:
    """The public names of tilec that cuTile Python does not have."""
    import tilec

    known = json.loads(DATA.read_text())["names"]
    found = {name for name in dir(tilec) if not name.startswith("_")}
    modules = {name for name in found if isinstance(getattr(tilec, name), types.ModuleType)}
    listed = {"compat", "tensor_map"}
    return sorted(
        (found - modules - {*known, "annotations", "TYPE_CHECKING", "Any", "import_module"}) | (modules & listed)
    )


def page() -> str:
    """The text of the page."""
    version = json.loads(DATA.read_text())["version"]
    sections = [
        f"## {heading}\n\n| name | parameters | tilec |\n| --- | --- | --- |\n{''.join(map(_line, found))}"
        for heading, found in compared().items()
    ]
    more = ", ".join(f"`{name}`" for name in added())
    return "\n".join([HEAD.format(version=version), *sections, f"## Only in tilec\n\n{more}\n"])


def _line(row: Row) -> str:
    parameters = f"`{row.parameters}`" if row.parameters else ""
    return f"| `{row.name}` | {parameters} | {row.status} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
