"""Launch metadata in a comment at the end of PTX: PTX in a pipe has no `.launch.json` beside it."""

from __future__ import annotations

from dataclasses import replace

from tilec.runtime.json_record import Record
from tilec.runtime.metadata import Metadata, read, to_line

_MARK = "// tilec.launch: "


def with_launch_comment(ptx: str, metadata: Metadata) -> str:
    """The PTX with its metadata, without the digest of the text: PTX in a pipe may be edited on its way."""
    return f"{ptx}{'' if ptx.endswith(chr(10)) else chr(10)}{_MARK}{to_line(replace(metadata, ptx_sha256=''))}\n"


def split_launch_comment(ptx: str, file: str) -> tuple[str, Metadata | None]:
    """The PTX without the comment, and the metadata in it, None if there is no such comment.

    Raises InputError where the comment is damaged; messages call the text `file`.
    """
    text, mark, line = ptx.rpartition(_MARK)
    if not mark or (text and not text.endswith("\n")) or "\n" in line.rstrip("\n"):
        return ptx, None
    return text, read(Record.parse(line, f"launch metadata of {file}"))
