"""Stage texts: detects the stage of a text, parses its module, and prints a module."""

from __future__ import annotations

import re
from typing import Any

from tilec.errors import InputError
from tilec.text_input.decoding import decoded

# The passes over tile_gpu set this attribute, so that a compile from their output does not run them again.
STAGE_ATTRIBUTE = "tilec.stage"
GPU_PASSED = "gpu"

_STRINGS_AND_COMMENTS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?!\s*\()|//[^\n]*')
# The first pattern that matches outside of strings and comments determines the stage; the last stage comes first.
_STAGE_PATTERNS = (
    ("ptx", re.compile(r"^\s*\.version\s+\d", re.MULTILINE)),
    ("ptx-mlir", re.compile(r'"?ptx\.entry"?')),
    ("gpu-raw", re.compile(r'"?tile_gpu\.kernel"?')),
)


def stage_of(text: str) -> str:
    """The name of the stage of a text; "tile" if no later stage matches."""
    bare = _STRINGS_AND_COMMENTS.sub("", text)
    for stage, pattern in _STAGE_PATTERNS:
        if pattern.search(bare):
            passed = stage == "gpu-raw" and f'{STAGE_ATTRIBUTE} = "{GPU_PASSED}"' in text
            return "gpu" if passed else stage
    return "tile"


def read_module(text: str | bytes, stage: str, file: str) -> Any:
    """The verified ir.Module of a text of any stage except ptx; raises TilecError with the location of an error."""
    if stage == "tile":
        from tilec.text_input.module import Module

        return Module.parse(text, file).ir
    from tilec.text_input.stage_module import read_stage_module

    return read_stage_module(text if isinstance(text, str) else decoded(text, file), file)


def module_text(module: Any, stage: str, locations: bool = False) -> str:
    """The text of a module, which `read_module` parses; `locations` adds the source location of each operation."""
    if stage in ("tile", "tile-opt"):
        from tilec.text_input.module import Module

        return Module(module).to_text(locations=locations)
    from tilec.text_input.stage_module import stage_module_text

    return stage_module_text(module, locations=locations)


_PTX_TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)
_PTX_VERSION = re.compile(r"^\s*\.version\s+(\d+\.\d+)", re.MULTILINE)


def ptx_target(ptx: str, file: str) -> str:
    """The architecture of the `.target` directive."""
    match = _PTX_TARGET.search(ptx)
    if match is None:
        raise InputError(f"{file} has no .target directive")
    return match[1]


def ptx_version(ptx: str) -> str:
    """The version of the `.version` directive; empty if there is none."""
    match = _PTX_VERSION.search(ptx)
    return match[1] if match else ""
