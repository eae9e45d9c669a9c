"""Days of dates that say a day, a month or a year. Pure."""

from calendar import monthrange
from datetime import date, timedelta


def last_day(value: str) -> str:
    """The last day that an ISO date of any precision can mean."""
    if len(value) == 4:
        return f"{value}-12-31"
    if len(value) == 7:
        return f"{value}-{monthrange(int(value[:4]), int(value[5:]))[1]}"
    return value


def day_of(value: str, today: date) -> str:
    """A date of any precision as a full day: the last it can mean, but not after today."""
    if len(value) == 10 or not value:
        return value
    last = last_day(value)
    first = f"{value}-01-01" if len(value) == 4 else f"{value}-01"
    return max(first, min(last, today.isoformat()))


def days_before(day: str, days: int) -> str:
    """The day so many days before an ISO day."""
    return (date.fromisoformat(day[:10]) - timedelta(days=days)).isoformat()
