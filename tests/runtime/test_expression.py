"""Expressions of launch metadata: values, text and JSON."""

import pytest

from tilec.errors import InputError
from tilec.runtime.tensor_maps.expression import Operation, Parameter, evaluate, largest_parameter, to_json, to_text

ROWS = Operation("ceildiv", Parameter(1), 64)


@pytest.mark.parametrize(
    ("name", "left", "right", "value"),
    [
        ("add", 7, -3, 4),
        ("sub", 7, 10, -3),
        ("mul", 7, 3, 21),
        ("floordiv", -7, 2, -4),
        ("ceildiv", 7, 2, 4),
        ("ceildiv", -7, 2, -3),
        ("min", 7, 3, 3),
        ("max", 7, 3, 7),
    ],
)
def test_operator(name: str, left: int, right: int, value: int) -> None:
    assert evaluate(Operation(name, left, right), []) == value


def test_parameters_are_entry_arguments() -> None:
    assert evaluate(Operation("mul", ROWS, Parameter(0)), [2, 129]) == 6


def test_division_by_an_argument_that_is_zero_is_an_error() -> None:
    with pytest.raises(InputError, match="divides by an argument that is zero"):
        evaluate(Operation("floordiv", 1, Parameter(0)), [0])


def test_text_names_the_arguments() -> None:
    expression = Operation("mul", Operation("add", Parameter(0), 1), ROWS)
    assert to_text(expression, ["M", "N"]) == "((M + 1) * ceildiv(N, 64))"


def test_json_form() -> None:
    assert to_json(ROWS) == {"op": "ceildiv", "arguments": [{"parameter": 1}, 64]}


def test_largest_parameter() -> None:
    assert largest_parameter(Operation("add", Parameter(2), ROWS)) == 2
    assert largest_parameter(5) == -1
