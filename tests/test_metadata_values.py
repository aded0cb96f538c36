"""Dates, NumPy's scalars and the like in metadata: stored, found by filters, given back."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.index.query.filters import OPERATORS, Where
from softcosine.index.segment.metadata_values import json_of
from softcosine.index.soft_index import SoftIndex

moments = st.datetimes(
    min_value=datetime(2, 1, 1),
    max_value=datetime(9998, 12, 31),
    timezones=st.none()
    | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)


def in_utc(moment):
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def stored(value):
    return json.loads(json_of(value))


@given(moments, moments)
def test_the_order_of_stored_times_is_that_of_time(one, other):
    assert len(stored(one)) == len(stored(other)) == 27
    assert (stored(one) < stored(other)) == (in_utc(one) < in_utc(other))
    assert (stored(one) == stored(other)) == (in_utc(one) == in_utc(other))
    assert datetime.fromisoformat(stored(one)) == in_utc(one)


@given(moments, st.dates())
def test_a_day_comes_before_all_of_its_times(moment, day):
    assert (stored(day) < stored(moment)) == (day <= in_utc(moment).astimezone(UTC).date())
    assert date.fromisoformat(stored(day)) == day


@given(moments, moments, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
def test_a_filter_compares_times_as_times(value, wanted, operator):
    compare = {"==": "__eq__", "!=": "__ne__"}
    names = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__", **compare}
    assert operator in OPERATORS
    expected = getattr(in_utc(value), names[operator])(in_utc(wanted))
    assert Where.parse({"at": {operator: wanted}}).matches({"at": stored(value)}) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 12), "2024-05-01T12:00:00.000000Z"),
        (
            datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            "2024-05-01T10:00:00.000000Z",
        ),
        (np.datetime64("2024-05-01"), "2024-05-01"),
        (np.datetime64("2024-05"), "2024-05-01"),
        (np.datetime64("2024-05-01T12:00", "ns"), "2024-05-01T12:00:00.000000Z"),
        (np.datetime64("2024-05-01", "s"), "2024-05-01T00:00:00.000000Z"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.longdouble(0.25), 0.25),
        (np.bool_(True), True),
        (np.str_("é"), "é"),
        ([np.int64(1), {"a": date(1, 1, 1)}], [1, {"a": "0001-01-01"}]),
    ],
)
def test_values_are_stored_as_documented(value, expected):
    found = stored(value)
    assert found == expected
    assert type(found) is type(expected)
    assert Where.parse({"x": {"==": value}}).matches({"x": found})


@pytest.mark.parametrize(
    "value",
    [
        np.float32("nan"),
        np.float64("inf"),
        np.datetime64("NaT"),
        np.datetime64("NaT", "ns"),
        np.datetime64(10**18, "s"),
        np.timedelta64(1, "s"),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        1j,
        np.complex64(1),
        np.arange(2),
        Decimal("NaN"),
        Decimal("-Infinity"),
        Decimal("1e400"),
        {1, 2},
        object(),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_with_it(value, tmp_path):
    index = SoftIndex.create(tmp_path / "x", plain=True)
    with index.writer() as writer:
        with pytest.raises(InvalidInputError, match="document 'a' cannot be written as JSON"):
            writer.add("a", "tea", {"x": value})
        writer.add("b", "tea")
    assert index.search("tea").ids == ["b"]
    with pytest.raises(InvalidInputError, match="the filter on 'x' compares with"):
        index.search("tea", where={"x": {"==": value}})


def test_pandas_times_are_datetimes():
    pd = pytest.importorskip("pandas")
    assert stored(pd.Timestamp("2024-05-01 12:00:00.123456789", tz="Europe/Berlin")) == (
        "2024-05-01T10:00:00.123456Z"
    )
    with pytest.raises(ValueError, match="NaT"):
        json_of(pd.NaT)


def test_the_times_of_a_data_frame_are_kept():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "text": ["green tea", "black tea"],
            "at": pd.to_datetime(["2024-05-01 12:00", None]),
            "day": [date(2024, 5, 1), np.datetime64("2024-05-02T00:00", "ns")],
            "n": np.array([1.5, np.nan], np.float32),
        }
    )
    index = SoftIndex.from_frame(frame, text="text", plain=True)
    assert [one.metadata for one in index.filter()] == [
        {"at": "2024-05-01T12:00:00.000000Z", "day": "2024-05-01", "n": 1.5},
        {"day": "2024-05-02T00:00:00.000000Z"},
    ]


def test_decimals_are_numbers():
    metadata = [{"price": Decimal(price)} for price in ("9.50", "10.00", "1E+2", "1e-3")]
    index = SoftIndex.from_texts(["tea"] * 4, metadata=metadata, plain=True)
    values = [hit.metadata["price"] for hit in index.search("tea", sort="price")]
    assert values == [0.001, 9.5, 10, 100]
    assert index.search("tea", where={"price": {"<=": Decimal("9.5")}}).ids == ["0", "3"]
    assert stored(Decimal(2**80 + 1)) == 2**80 + 1


def test_anything_else_is_what_default_says(tmp_path):
    def default(value):
        if isinstance(value, Decimal):
            return str(value)
        return sorted(value)

    facts = {"price": Decimal("1.50"), "tags": {"b", "a"}, "at": date(2024, 5, 1)}
    expected = {"price": "1.50", "tags": ["a", "b"], "at": "2024-05-01"}
    index = SoftIndex.from_texts(["tea"], metadata=[facts], plain=True, default=default)
    assert index.search("tea")[0].metadata == expected
    disk = SoftIndex.create(tmp_path / "x", plain=True)
    with disk.writer(default=default) as writer:
        writer.add("a", "tea", facts)
        with pytest.raises(InvalidInputError, match="not iterable"):
            writer.add("b", "tea", {"x": object()})
    assert disk.search("tea")[0].metadata == expected
    with pytest.raises(InvalidInputError, match="pass default="), disk.writer() as writer:
        writer.add("b", "tea", {"x": {1}})
    with pytest.raises(InvalidInputError, match=r"keys must be str.* not tuple\.$"):
        SoftIndex.from_texts(["tea"], metadata=[{("a", "b"): 1}], plain=True)
    for refused in (
        lambda: disk.writer(default=3),
        lambda: SoftIndex.from_texts(["tea"], plain=True, default="str"),
    ):
        with pytest.raises(InvalidInputError, match="pass a function"):
            refused()
    disk.writer(timeout=0).close()


def test_hits_are_filtered_by_dates(tmp_path):
    index = SoftIndex.create(tmp_path / "x", plain=True)
    berlin = timezone(timedelta(hours=2))
    with index.writer() as writer:
        writer.add("day", "tea", {"at": date(2024, 5, 1)})
        writer.add("night", "tea", {"at": datetime(2024, 5, 2, 1, tzinfo=berlin)})  # 23:00 in UTC
        writer.add("later", "tea", {"at": datetime(2024, 5, 2, 1)})

    def ids(**at):
        return sorted(index.search("tea", where={"at": at}).ids)

    assert ids(**{"<": date(2024, 5, 2)}) == ["day", "night"]
    assert ids(**{">=": datetime(2024, 5, 1, tzinfo=UTC)}) == ["later", "night"]
    assert ids(**{"==": datetime(2024, 5, 1, 23, tzinfo=UTC)}) == ["night"]
    assert ids(**{"in": [np.datetime64("2024-05-01")]}) == ["day"]
