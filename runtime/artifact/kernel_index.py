"""The index of a folder of compiled kernels: the schema `tilec.index/1`, every field validated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath

from tilec.frozen import Frozen, field_names
from tilec.runtime.json_record import Record

SCHEMA = "tilec.index/1"
INDEX_FILE = "index.json"
# The files of a variant: launch metadata, PTX and cubin.
FILES = ("metadata", "ptx", "cubin")
VERSIONS = ("tilec", "ptx", "assembler")


class Variant(Frozen):
    """A kernel compiled for one signature and one target.

    Attributes:
        kernel: the name of the kernel in the folder.
        name: the name of the signature, which variants of one signature for several targets share.
        signature: the text of the signature; empty for a module, whose entries declare their parameters.
        files: the name of each file in the folder, by the names of FILES.
        hints: the compile options that differ from the default.
        source: the path of the source.
        versions: the versions of tilec, PTX and the assembler.
    """

    kernel: str
    name: str
    signature: str
    target: str
    entry: str
    files: Mapping[str, str]
    hints: Mapping[str, bool | int]
    source: str
    versions: Mapping[str, str]


_FIELDS = tuple(field_names(Variant))


def to_text(variants: tuple[Variant, ...], tilec_version: str) -> str:
    """The text of the index: one variant per line."""
    lines = ",\n".join(f"    {json.dumps(_to_json(variant))}" for variant in variants)
    header = f'  "schema": "{SCHEMA}",\n  "tilec_version": {json.dumps(tilec_version)},\n'
    return f'{{\n{header}  "variants": [\n{lines}\n  ]\n}}\n'


def _to_json(variant: Variant) -> dict[str, object]:
    fields = {name: getattr(variant, name) for name in _FIELDS}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()}


def read(text: str, file: str) -> tuple[Variant, ...]:
    """The variants of the index; raises InputError, naming a missing or invalid field of `file`."""
    record = Record.parse(text, file)
    if record["schema"].text() != SCHEMA:
        raise record["schema"].error(f"'{SCHEMA}'")
    record.only({"schema", "tilec_version", "variants"})["tilec_version"].text()
    return tuple(_read_variant(item) for item in record["variants"].items())


def _read_variant(record: Record) -> Variant:
    texts = {
        name: record.only(_FIELDS)[name].text() for name in ("kernel", "name", "signature", "target", "entry", "source")
    }
    return Variant(
        **texts,
        files=_read_files(record["files"]),
        hints={name: _read_hint(record["hints"][name]) for name in record["hints"].fields()},
        versions={name: record["versions"][name].text() for name in record["versions"].only(VERSIONS).fields()},
    )


def _read_files(record: Record) -> dict[str, str]:
    files = {name: record[name].text() for name in record.only(FILES).fields()}
    record["metadata"]
    for name, file in files.items():
        # A name with a separator could leave the folder.
        if PurePath(file).name != file:
            raise record[name].error("the name of a file in the folder")
    return files


def _read_hint(record: Record) -> bool | int:
    return record.boolean() if isinstance(record.value, bool) else record.integer()
