"""The meaning of a date window: the three tests of `Scope`, compared with single days."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workingset_mcp.index.query import WHOLE_VAULT, Scope

FIRST = date(2024, 12, 1)
DAYS = [(FIRST + timedelta(days=number)).isoformat() for number in range(450)]
VALUES = st.sampled_from([*DAYS, *{day[:7] for day in DAYS}, "2024", "2025", "2026"])


def days_of(value: str) -> set[str]:
    """Return the days that a date of any precision names."""
    first = date.fromisoformat(f"{value}-01-01"[:10])
    every = ((first + timedelta(days=number)).isoformat() for number in range(366))
    return {day for day in every if day.startswith(value)}


def window_of(since: str, until: str) -> set[str]:
    """Return the days from the first of `since` to the last of `until`."""
    every = {day for year in ("2024", "2025", "2026") for day in days_of(year)}
    first, last = min(days_of(since), default=""), max(days_of(until), default="")
    return {day for day in every if first <= day <= last}


@given(VALUES, VALUES, VALUES)
def test_each_test_of_a_scope_is_a_statement_about_days(since: str, until: str, value: str) -> None:
    scope, window, days = Scope(since=since, until=until), window_of(since, until), days_of(value)
    assert scope.may_hold(value) == (
        bool(days & window) or (bool(window) is False and _between(since, until, value))
    )
    assert scope.holds_first_day(value) == (min(days) in window)
    assert scope.begins_within(value) == (min(days) < min(days_of(since)) <= max(days))
    if window:
        assert scope.holds_every_day(value) == (days <= window)


def _between(since: str, until: str, value: str) -> bool:
    """Return whether a date covers an empty window from its end to its beginning."""
    days = days_of(value)
    return min(days_of(since)) <= max(days) and min(days) <= max(days_of(until))


@given(VALUES, VALUES)
def test_an_open_end_includes_everything_on_its_side(limit: str, value: str) -> None:
    later, earlier = Scope(since=limit), Scope(until=limit)
    assert later.may_hold(value) == (max(days_of(value)) >= min(days_of(limit)))
    assert earlier.may_hold(value) == (min(days_of(value)) <= max(days_of(limit)))
    assert later.holds_first_day(value) == (min(days_of(value)) >= min(days_of(limit)))
    assert earlier.holds_every_day(value) == (max(days_of(value)) <= max(days_of(limit)))


@given(VALUES)
def test_adjacent_windows_contain_the_first_day_of_a_date_exactly_once(value: str) -> None:
    months = sorted({day[:7] for year in ("2024", "2025", "2026") for day in days_of(year)})
    scopes = [Scope(since=month, until=month) for month in months]
    assert [scope.holds_first_day(value) for scope in scopes].count(True) == 1


@pytest.mark.parametrize(
    ("scope", "undated", "dated"),
    [
        (WHOLE_VAULT, True, True),
        (Scope(since="2026"), False, True),
        (Scope(until="2026"), False, True),
        (Scope(undated=True), True, False),
        (Scope(until="2026", undated=True), True, False),
    ],
    ids=str,
)
def test_a_missing_date_is_in_no_window(scope: Scope, *, undated: bool, dated: bool) -> None:
    for holds in (scope.may_hold, scope.holds_first_day, scope.holds_every_day):
        assert (holds(""), holds("2026-06-16")) == (undated, dated)
    assert scope.has_window == (not (undated and dated))
    assert not scope.begins_within("")
    assert not scope.anytime().has_window


def test_a_scope_names_its_branch_only_if_it_has_exactly_one() -> None:
    assert Scope.of(None, "2026") == Scope(None, "2026")
    assert (Scope.of(None).branch, Scope.of("cust/acme").branch) == (None, "cust/acme")
    for branches in (frozenset[str](), frozenset({"a", "b"})):
        with pytest.raises(ValueError, match="values to unpack"):
            _ = Scope(branches).branch
