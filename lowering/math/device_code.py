"""A PTX file of NVRTC -> the text of one self-contained function."""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(r"^\.(?:version|target|address_size)\b.*$", re.MULTILINE)
_COMMENT = re.compile(r"//.*$", re.MULTILINE)
_VISIBLE = re.compile(r"\.visible\s+(?=\.func\b)")
# A function or a table at module level, `.func (.param .b64 x) name` or `.global .align 8 .b8 name[128]`.
_SYMBOL = re.compile(
    r"^\.(?:func\s+(?:\([^)]*\)\s*)?|(?:global|const)\b[^;={]*?)(?P<name>[A-Za-z_$][\w$]*)\s*[(\[\n]", re.MULTILINE
)


def device_function(ptx: str, name: str) -> str:
    """The function `name` of a PTX file and everything it refers to, without module directives.

    Other functions and tables get names that begin with `name`, so that several such texts fit in one module.
    """
    text = _COMMENT.sub("", _DIRECTIVE.sub("", ptx))
    text = _VISIBLE.sub("", text)
    for symbol in dict.fromkeys(match["name"] for match in _SYMBOL.finditer(text)):
        if symbol != name:
            text = re.sub(rf"(?<![\w$%]){re.escape(symbol)}(?![\w$])", f"{name}_{symbol.lstrip('_')}", text)
    return "\n".join(line for line in (_tidied(line) for line in text.splitlines()) if line)


def _tidied(line: str) -> str:
    """The line with indentation of four spaces and single spaces between tokens."""
    text = " ".join(line.split())
    return f"    {text}" if line[:1] in "\t " and text else text
