"""Prints the digests of the PTX of random multiplies while the hashes of MLIR's objects are others than usual.

`python tests/fuzz/random_hashes.py SALT SEED ...`: whatever the salt, which changes the order of every set of
operations, values, types and attributes, the PTX and the remarks are to be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import linecache
from typing import Any

import compared_kernels
import multiply_fuzz

import tilec as ct
from tilec.dialect.mlir import ir
from tilec.errors import UnsupportedError

HASHED = ("Operation", "OpView", "Value", "Block", "Type", "Attribute", "Location")


def add_to_hashes(salt: int) -> None:
    """Mixes a number into the hashes of MLIR's objects, which otherwise are their addresses."""
    for kind in (getattr(ir, name) for name in HASHED):
        kind.__hash__ = lambda self, usual=kind.__hash__: hash((salt, usual(self)))


def digest(seed: int, target: int) -> str:
    """The digest of a random kernel with its random settings, or why it is refused."""
    case = multiply_fuzz.random_case(seed)
    file = f"seed_{seed}.py"
    linecache.cache[file] = len(case.source), None, case.source.splitlines(keepends=True), file
    scope: dict[str, Any] = {"ct": ct}
    exec(compile(case.source, file, "exec"), scope)
    given = case.arguments()
    try:
        compiled = compared_kernels._compiled(ct.kernel(scope["kernel"]), given, case.settings[target])
    except UnsupportedError as error:
        return error.message
    return hashlib.sha256(f"{compiled.ptx}\n{compiled.all_remarks}".encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("salt", type=int, metavar="SALT", help="a number that is mixed into the hashes")
    parser.add_argument("seeds", type=int, nargs="+", metavar="SEED", help="the seeds of the kernels")
    options = parser.parse_args()
    add_to_hashes(options.salt)
    for seed in options.seeds:
        for number, target in enumerate(compared_kernels.TARGETS):
            print(f"seed {seed} {target}: {digest(seed, number)}", flush=True)


if __name__ == "__main__":
    main()
