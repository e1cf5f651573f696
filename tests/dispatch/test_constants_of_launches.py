"""Constants of launches select specializations by type and value, as signatures do."""

from __future__ import annotations

PROGRAM = """
from enum import Enum
import numpy as np

class Color(Enum):
    RED = 1
    BLUE = 2

@ct.kernel
def example(x, n: ct.Constant): pass

replace_compiler()
x = Interface(0x10000, (64, 32))
constants = (
    *(True, False, 1, 0, 1.0, 0.0, -0.0, float("nan"), float("inf"), None, "1", "", "a" * 9, 2**40, -1),
    *(ct.float16, ct.int32, Color.RED, Color.BLUE, (1, 2), (1, (2,)), (True, 2)),
)
first = [by_native(0, 1, example, (x, constant)) for constant in constants]
print(len(compiles) == len(constants) == len({launched.function for launched in first}))
second = [by_native(0, 1, example, (x, constant)) for constant in constants]
print(second == first, ct.launch_counts()["native"] == len(constants))
"""

EQUAL = """
import numpy as np

@ct.kernel
def example(x, n: ct.Constant): pass

replace_compiler()
x = Interface(0x10000, (64, 32))
pairs = ((np.int32(7), 7), (np.float64(0.5), 0.5), (np.bool_(True), True), (np.float16, ct.float16))
print([len({by_native(0, 1, example, (x, value)).function for value in pair}) for pair in pairs])
"""


def test_each_type_and_value_is_a_specialization(run_program) -> None:
    assert run_program(PROGRAM) == ["True", "True True"]


def test_numpy_scalars_and_types_are_constants_of_python(run_program) -> None:
    assert run_program(EQUAL) == ["[1, 1, 1, 1]"]


def test_members_of_an_integer_enumeration_are_their_own_constants(run_program) -> None:
    program = """
from enum import IntEnum

class Level(IntEnum):
    ONE = 1

@ct.kernel
def example(x, n: ct.Constant): pass

replace_compiler()
x = Interface(0x10000, (64, 32))
for _ in range(2):
    print(len({by_native(0, 1, example, (x, n)).function for n in (1, Level.ONE)}))
"""
    assert run_program(program) == ["2", "2"]
