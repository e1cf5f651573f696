"""Table of math functions: the name in Tile IR, the CUDA name for f64, and the number of arguments.

In f32 the CUDA name ends in f (CUDA Math API, "Single Precision Mathematical Functions"). Their errors are given in
the CUDA C++ Programming Guide, "Mathematical Functions", tables of maximum ulp error.
"""

from __future__ import annotations

from dataclasses import dataclass

# Names of a C type and the register class of a value of each element type.
C_TYPES = {"f32": "float", "f64": "double"}


@dataclass(frozen=True)
class Row:
    cuda: str
    arguments: int = 1

    def c_name(self, element: str) -> str:
        return self.cuda + ("f" if element == "f32" else "")


FUNCTIONS = {
    "atan2": Row("atan2", 2),
    "cos": Row("cos"),
    "cosh": Row("cosh"),
    "exp": Row("exp"),
    "exp2": Row("exp2"),
    "fmod": Row("fmod", 2),
    "log": Row("log"),
    "log2": Row("log2"),
    "pow": Row("pow", 2),
    "rsqrt": Row("rsqrt"),
    "sin": Row("sin"),
    "sinh": Row("sinh"),
    "tan": Row("tan"),
    "tanh": Row("tanh"),
}
