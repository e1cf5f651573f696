"""Classes derived from Frozen behave as frozen dataclasses of the same declaration."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from tilec.frozen import Frozen, field_names, replace


@dataclass(frozen=True)
class Expected:
    first: int
    second: tuple[int, ...] = (2,)
    third: str = "three"


class Made(Frozen):
    first: int
    second: tuple[int, ...] = (2,)
    third: str = "three"


class Wider(Made):
    fourth: float = 4.0


class ByName(Frozen, kw_only=True):
    first: int = 1
    second: int


class Identified(Frozen, eq=False):
    first: int


class Quiet(Frozen, hidden=("second",)):
    first: int
    second: int = 2


class Checked(Frozen):
    first: int
    second: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("negative")
        if not self.second:
            object.__setattr__(self, "second", (self.first,))


def outcome(kind: Any, given: tuple[Any, ...], named: dict[str, Any]) -> object:
    try:
        return dataclasses.astuple(kind(*given, **named))
    except TypeError:
        return TypeError


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((1,), {}),
        ((1, (3, 4)), {}),
        ((1, (3, 4), "x"), {}),
        ((1,), {"third": "x"}),
        ((), {"third": "x", "first": 1}),
        ((), {}),
        ((), {"second": (1,)}),
        ((1, 2, 3, 4), {}),
        ((1,), {"first": 2}),
        ((1,), {"other": 2}),
    ],
)
def test_arguments_of_a_class(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    assert outcome(Made, given, named) == outcome(Expected, given, named)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"^Made: missing a required argument: 'first'$"):
        Made()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Made: got an unexpected keyword argument 'fourth'$"):
        Made(1, fourth=4)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^ByName: too many positional arguments$"):
        ByName(1, second=2)  # type: ignore[misc]


def test_representation() -> None:
    assert repr(Made(1)) == repr(Expected(1)).replace("Expected", "Made")
    assert repr(Quiet(1, 5)) == "Quiet(first=1)"


def test_equal_fields_of_one_class_are_equal() -> None:
    assert Made(1) == Made(1, third="three") and hash(Made(1)) == hash(Made(1))
    assert Made(1) != Made(2) and Made(1) != Wider(1) and Made(1) != (1, (2,), "three")
    assert Identified(1) != Identified(1) and len({Identified(1), Identified(1)}) == 2


def test_fields_cannot_change() -> None:
    value = Made(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'first'"):
        value.first = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'first'"):
        del value.first  # type: ignore[misc]


def test_copies_and_pickles_are_equal() -> None:
    value = Wider(1, fourth=0.5)
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value


def test_replaced_fields() -> None:
    assert replace(Wider(1), second=(), fourth=1.0) == Wider(1, (), fourth=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'fifth'"):
        replace(Wider(1), fifth=5)


def test_fields_that_are_checked_and_completed() -> None:
    assert Checked(3).second == (3,)
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)


def test_fields_have_the_order_of_the_declaration() -> None:
    assert field_names(Wider) == ("first", "second", "third", "fourth")
    assert list(vars(Made(third="x", first=1))) == ["first", "second", "third"]


def test_functions_of_dataclasses_know_the_classes() -> None:
    assert dataclasses.is_dataclass(Made) and dataclasses.is_dataclass(Made(1))
    assert [(f.name, f.default, f.repr) for f in dataclasses.fields(Quiet)] == [
        ("first", dataclasses.MISSING, True),
        ("second", 2, False),
    ]
    assert dataclasses.replace(Made(1), first=2) == Made(2)
    assert dataclasses.asdict(Made(1)) == {"first": 1, "second": (2,), "third": "three"}


def test_signature_and_patterns() -> None:
    assert list(inspect.signature(Made).parameters) == list(inspect.signature(Expected).parameters)
    assert str(inspect.signature(ByName)) == "(*, first: 'int' = 1, second: 'int')"
    match Made(1, (5,)):
        case Made(first, (second,)):
            assert (first, second) == (1, 5)
