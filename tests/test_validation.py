"""Checks of what users pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from softcosine import _validation as validation
from softcosine.errors import InvalidInputError

INF = float("inf")


@pytest.mark.parametrize("value", [1, 3, np.int64(2), np.uint8(2)])
def test_whole_numbers_of_every_type_pass(value: Any) -> None:
    validation.check_whole("k", value, most=3)


@pytest.mark.parametrize("value", [0, -1, 4, 1.0, True, np.True_, "1", None])
def test_other_values_are_no_whole_numbers(value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^k is .*; it must be a whole number from 1 to 3"):
        validation.check_whole("k", value, most=3)


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.int8(1), Fraction(1, 2)])
def test_numbers_of_every_type_pass(value: Any) -> None:
    validation.check_number("share", value, least=0, most=1)


@pytest.mark.parametrize("value", [-0.1, 1.1, INF, float("nan"), True, "0.5", None, 10**400])
def test_other_values_are_no_numbers(value: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=r"^share is .*; it must be a number from 0 to 1\.$"
    ):
        validation.check_number("share", value, least=0, most=1)


@pytest.mark.parametrize(
    ("limits", "wrong", "needed"),
    [
        ({"above": 0}, 0, "a finite number above 0"),
        ({"above": 0}, INF, "a finite number above 0"),
        ({"least": 0}, -1, "a finite number of at least 0"),
        ({"above": 0, "most": 1}, 0, "a number above 0 and at most 1"),
        ({"above": 0, "below": 1}, 1, "a number above 0 and below 1"),
        ({"least": 0, "below": 1}, 1, "a number of at least 0 and below 1"),
        ({"least": 0, "most": 1, "optional": True}, 2, "a number from 0 to 1, or None"),
    ],
)
def test_the_limits_are_named(limits: dict[str, Any], wrong: Any, needed: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        validation.check_number("x", wrong, **limits)
    assert str(refused.value) == f"x is {wrong}; it must be {needed}."


def test_the_nearest_choice_is_named() -> None:
    validation.check_choice("measure", "cosine", {"cosine": 1, "dice": 2})
    with pytest.raises(InvalidInputError) as refused:
        validation.check_choice("measure", "cosin", ("cosine", "dice"))
    told = "measure is 'cosin'; it must be one of cosine, dice. Did you mean 'cosine'?"
    assert str(refused.value) == told
    for other in ("x", None, 3, ["cosine"]):
        with pytest.raises(InvalidInputError, match=r"it must be one of cosine, dice\.$"):
            validation.check_choice("measure", other, ("cosine", "dice"))


def test_none_passes_where_it_may() -> None:
    for check in (validation.check_whole, validation.check_number, validation.check_flag):
        check("x", None, optional=True)
        with pytest.raises(InvalidInputError, match="or None"):
            check("x", "one", optional=True)
    validation.check_choice("x", None, ("a",), optional=True)


def test_a_single_string_is_no_list() -> None:
    validation.check_list("words", ("a", "b"))
    with pytest.raises(InvalidInputError, match=r"single string; wrap it in a list: \[words\]"):
        validation.check_list("words", "ab")
    with pytest.raises(InvalidInputError, match="words is of type int; pass a list of strings"):
        validation.check_list("words", 3)


def test_long_values_are_cut_short() -> None:
    with pytest.raises(InvalidInputError) as refused:
        validation.check_flag("x", "y" * 10_000)
    assert len(str(refused.value)) < 200
