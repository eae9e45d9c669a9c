"""Dates in texts, paths and YAML values: one line a form, near-misses, what holds for any."""

from __future__ import annotations

import calendar
import datetime
import re
import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workingset_mcp.notes.dates import (
    MONTHS,
    WEAK_NAMES,
    FoundDate,
    Order,
    date_of_path,
    date_words,
    find_dates,
    iso_day,
    year_of_path,
    year_only_of_path,
)

FORMS = [
    # text, value, time
    ("2026-06-16", "2026-06-16", ""),
    ("STATUS (2026-06-16 · 11:18 ET): green", "2026-06-16", "11:18"),
    ("2026-06-16 16:40", "2026-06-16", "16:40"),
    ("2026-06-16, 4:40 pm", "2026-06-16", "16:40"),
    ("2026-06-16 4 p.m. call", "2026-06-16", "16:00"),
    ("2026-06-16 12:05 am", "2026-06-16", "00:05"),
    ("2026-06-16 at 16:40", "2026-06-16", "16:40"),
    ("(2026-06-16) 16:40", "2026-06-16", "16:40"),
    ("16:40, Tuesday 2026-06-16", "2026-06-16", "16:40"),
    ("4pm on 2026-06-16", "2026-06-16", "16:00"),
    ("Status 2025-12-16T19:22:12-08:00", "2025-12-16", "19:22"),
    ("2025-02-20T22:47:50.000+09:00", "2025-02-20", "22:47"),
    ("2026-06-16T1145Z", "2026-06-16", "11:45"),
    ("2025-11-20 02:27 UTC", "2025-11-20", "02:27"),
    ("2026-06-16_11-45 call", "2026-06-16", "11:45"),
    ("Feb 27, 2026, 5:15 PM IST", "2026-02-27", "17:15"),
    ("2026/06/16", "2026-06-16", ""),
    ("2018/01/24 (Wed)", "2018-01-24", ""),
    ("2015/05/14 (Thu) 14:00- (JST)", "2015-05-14", "14:00"),
    ("2026.06.16", "2026-06-16", ""),
    ("daily.journal.2026.06.16.md", "2026-06-16", ""),
    ("2026. 6. 16.", "2026-06-16", ""),
    ("20260616", "2026-06-16", ""),
    ("DevelopersMeeting20200925Japan", "2020-09-25", ""),
    ("20260616114500", "2026-06-16", "11:45"),
    ("202606161145", "2026-06-16", "11:45"),
    ("20260616_114500", "2026-06-16", "11:45"),
    ("2018-9-5", "2018-09-05", ""),
    ("2019-3-27", "2019-03-27", ""),
    ("2022–03-02", "2022-03-02", ""),
    ("2022−03−02", "2022-03-02", ""),
    ("2022\u201103\u201102", "2022-03-02", ""),
    ("2026_06_16", "2026-06-16", ""),
    ("2018-Aug-01", "2018-08-01", ""),
    ("Jun 16, 2026", "2026-06-16", ""),
    ("Jan. 20, 2021", "2021-01-20", ""),
    ("June 16th 2026", "2026-06-16", ""),
    ("Oct 5 2020", "2020-10-05", ""),
    ("Sept 17/ 2018", "2018-09-17", ""),
    ("June 16-18, 2026", "2026-06-16", ""),
    ("June_16_2026", "2026-06-16", ""),
    ("Thursday, Mar 19, 2020", "2020-03-19", ""),
    ("16 June 2026", "2026-06-16", ""),
    ("104th TC39 Meeting | 10th October 2024", "2024-10-10", ""),
    ("the 16th of June, 2026", "2026-06-16", ""),
    ("1-Aug-2018", "2018-08-01", ""),
    ("16-18 June 2026", "2026-06-16", ""),
    ("Sprint 24-12 June 2026", "2026-06-12", ""),
    ("16. Juni 2026", "2026-06-16", ""),
    ("16.Juni 2026", "2026-06-16", ""),
    ("27. Februar 2019, 17:30 Uhr", "2019-02-27", "17:30"),
    ("am 16. Juni 2026 um 16.40 Uhr", "2026-06-16", "16:40"),
    ("28. Dezember 2018", "2018-12-28", ""),
    ("Mittwoch, 23. Januar 2019", "2019-01-23", ""),
    ("2. M\u00e4rz 2026", "2026-03-02", ""),
    ("2. Ma\u0308rz 2026", "2026-03-02", ""),
    ("2 de marzo de 2026", "2026-03-02", ""),
    ("3 de set. de 2026", "2026-09-03", ""),
    ("1º de março de 2026", "2026-03-01", ""),
    ("1er mars 2026", "2026-03-01", ""),
    ("16 juin 2026 à 16h40", "2026-06-16", "16:40"),
    ("16 giugno 2026", "2026-06-16", ""),
    ("16 mrt. 2026", "2026-03-16", ""),
    ("2 Mar '20", "2020-03-02", ""),
    ("2 Mar ’20", "2020-03-02", ""),
    ("2 Mar '99", "1999-03-02", ""),
    ("13.04.2018", "2018-04-13", ""),
    ("04.05.2018", "2018-05-04", ""),
    ("13. 4. 2018", "2018-04-13", ""),
    ("2026年6月16日", "2026-06-16", ""),
    ("2026年06月16日（火）14時30分", "2026-06-16", "14:30"),
    ("2025年1月10日 深圳", "2025-01-10", ""),
    ("2026년 6월 16일", "2026-06-16", ""),
    ("現状（2026-04-27時点）", "2026-04-27", ""),
    ("10/17/2018", "2018-10-17", ""),
    ("17/10/2018", "2018-10-17", ""),
    ("05/05/2015", "2015-05-05", ""),
    ("Minutes-10-26-2023", "2023-10-26", ""),
    ("30-03-2016", "2016-03-30", ""),
    ("Release WG Minutes - 2/13/19", "2019-02-13", ""),
    ("Date: 3-13-19", "2019-03-13", ""),
    ("June 2026", "2026-06", ""),
    ("Juni 2026", "2026-06", ""),
    ("(EOL April-2021)", "2021-04", ""),
    ("marzo de 2026", "2026-03", ""),
    ("Notes from Mar '20", "2020-03", ""),
    ("2024-06", "2024-06", ""),
    ("2024年6月", "2024-06", ""),
    ("Q3 June 2026", "2026-06", ""),  # no 3rd of June
    ("Call #12 June 2026", "2026-06", ""),
    ("İstanbul, 16 June 2026", "2026-06-16", ""),  # a letter that grows in lower case
    ("2026-06-16 25:61", "2026-06-16", ""),
    ("2026-06-16-2", "2026-06-16", ""),
]

YEARLESS = [
    # text, value with the year 2025 given, time
    ("April 25 project call", "2025-04-25", ""),
    ("April 25, 10:00", "2025-04-25", "10:00"),
    ("Status as of Feb 27, 5:15 PM IST", "2025-02-27", "17:15"),
    ("May 12th standup", "2025-05-12", ""),
    ("2 Mar", "2025-03-02", ""),
    ("25. April", "2025-04-25", ""),
    ("04-25", "2025-04-25", ""),
    ("wasmtime-04-25.md", "2025-04-25", ""),
    ("docs-07-3.md", "2025-07-03", ""),
    ("6月16日 会議", "2025-06-16", ""),
    ("2024-04-25", "2024-04-25", ""),
]

NO_DATES = [
    "",
    "no digit at all, in May or in march",
    "Topic 7",
    "Annual plan for 2026",
    "0.11.16",
    "1.12.2018.3",
    "3.1.12.2018",
    "v2.10.2024",
    "v2026.6",
    "2026.6.16",
    "1.0.20260616",
    "10.20.20.26",
    "192.168.20.24",
    "20260616123",
    "202606169999",
    "2026061611450",
    "12026-06-16",
    "2026-06-161",
    "DEC-0054",
    "DEC-2018",
    "CVE-2021-44228",
    "2026-13-45",
    "2026-00-10",
    "2026-06-00",
    "2023-02-29",
    "31 June 2026",
    "June 31, 2026",
    "31/04/2018",
    "1989-12-31",
    "2100-01-01",
    "31 Dec 1989",
    "3/4",
    "1/2 2026",
    "1/2/2026/3",
    "3-4-19",
    "5-5-19",
    "19-03-13",
    "2024-061",
    "2024-06.1",
    "2019-2020",
    "2019-20",
    "v2024-06",
    "FY 2023 Q3 goals",
    "check out 2026",
    "data set 12, 2024",
    "5 years ago 2024",
    "summary 2026",
    "xjune 2026",
    "3 items 2026",
    "April 25",
    "04-25",
    "2 Mar",
    "16 May 26",
    "ruby 3.2.0",
    "Time: 16:00- 18:00 (JST)",
]

AMBIGUOUS = [
    # text, day first, month first
    ("02/09/2015", "2015-09-02", "2015-02-09"),
    ("2/9/2015", "2015-09-02", "2015-02-09"),
    ("02-09-2015", "2015-09-02", "2015-02-09"),
    ("Date 4/6/20", "2020-06-04", "2020-04-06"),
]

PATHS = [
    # path, (value, source), year of the folders, year only
    ("2024/wasmtime-04-25.md", ("2024-04-25", "folder"), 2024, "2024"),
    ("2025/03-18-Meeting-notes.md", ("2025-03-18", "folder"), 2025, "2025"),
    ("SIG-Documentation/2024/docs-07-3.md", ("2024-07-03", "folder"), 2024, "2024"),
    ("minutes-2024/April 25.md", ("2024-04-25", "folder"), 2024, "2024"),
    ("meetings/2019/triage/2 Mar.md", ("2019-03-02", "folder"), 2019, "2019"),
    ("2018/archive-2019/04-25.md", ("2019-04-25", "folder"), 2019, "2019"),
    ("2024/06/15.md", ("2024-06-15", "folder"), 2024, "2024"),
    ("notes/2024/06/15/standup.md", ("2024-06-15", "folder"), 2024, "2024"),
    ("2024-06-15 offsite/agenda.md", ("2024-06-15", "folder"), 2024, "2024"),
    ("2024-06-15/2024-06-16/a.md", ("2024-06-16", "folder"), 2024, "2024"),
    ("2019/june.md", ("2019-06", "folder"), 2019, "2019"),
    ("2019/06-june.md", ("2019-06", "folder"), 2019, "2019"),
    ("2019/16-june.md", ("2019-06-16", "folder"), 2019, "2019"),
    ("2019/2020-03-25 Treffen.md", ("2020-03-25", "name"), 2019, "2020"),
    ("daily/2026-06-18.md", ("2026-06-18", "name"), None, "2026"),
    ("20170822.md", ("2017-08-22", "name"), None, None),
    ("2024-06.md", ("2024-06", "name"), None, "2024"),
    ("June 2024 (2024-06-15).md", ("2024-06-15", "name"), None, "2024"),
    ("Protokoll 2. Ma\u0308rz 2026.md", ("2026-03-02", "name"), None, "2026"),
    ("annual-report-2025.md", None, None, "2025"),
    ("2026/README.md", None, 2026, "2026"),
    ("2024-06/standup.md", None, 2024, "2024"),
    ("2024/13-45.md", None, 2024, "2024"),
    ("2023/langs-05-11-2023.md", None, 2023, "2023"),
    ("2019-2020/04-25.md", None, None, None),
    ("v2024/04-25.md", None, None, None),
    ("04-25.md", None, None, None),
    ("release/v1.2024.3.md", None, None, None),
    ("README.md", None, None, None),
    ("", None, None, None),
]

YAML_VALUES: list[tuple[object, str | None]] = [
    (datetime.date(2026, 6, 16), "2026-06-16"),
    (datetime.datetime(2026, 6, 16, 23, 30, tzinfo=datetime.UTC), "2026-06-16"),
    (datetime.date(1970, 1, 1), None),
    ("2026-06-16", "2026-06-16"),
    (" 2026-06-16T11:18:00+09:00 ", "2026-06-16"),
    ("[[2026-06-16]]", "2026-06-16"),
    ("June 2026", "2026-06"),
    ("June 2026, on 2026-06-16", "2026-06-16"),
    ("02/09/2015", None),
    ("tomorrow", None),
    (20260616, "2026-06-16"),
    (20261345, None),
    (2026, None),
    (10**30, None),
    (True, None),
    (2026.06, None),
    (["2026-06-16"], None),
    (None, None),
]

WORDS = [
    ("2019-03-13", "d20190313 d201903 march 13 2019"),
    ("2019-03-03", "d20190303 d201903 march 3 2019"),
    ("2019-03", "d201903 march 2019"),
    ("2019", "d2019"),
    ("2019-13", ""),
    ("soon", ""),
    ("", ""),
]


@pytest.mark.parametrize(("text", "value", "clock"), FORMS)
def test_a_date_is_found_in_each_form(text: str, value: str, clock: str) -> None:
    assert [(date.value, date.time) for date in find_dates(text)] == [(value, clock)]


@pytest.mark.parametrize(("text", "value", "clock"), YEARLESS)
def test_a_form_without_a_year_is_completed_by_the_year_given(
    text: str, value: str, clock: str
) -> None:
    assert [(date.value, date.time) for date in find_dates(text, year=2025)] == [(value, clock)]


@pytest.mark.parametrize("text", NO_DATES)
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert find_dates(text) == []


@pytest.mark.parametrize(
    "text", ["June 31", "Feb 29", "vote 10-3", "10:30-11:30", "1-2-04-25", "DEC-12", "0.04-25"]
)
def test_what_only_looks_like_a_day_is_none_though_a_year_is_given(text: str) -> None:
    assert find_dates(text, year=2025) == []


@pytest.mark.parametrize(("text", "day_first", "month_first"), AMBIGUOUS)
def test_two_readings_have_no_value_until_an_order_is_given(
    text: str, day_first: str, month_first: str
) -> None:
    (found,) = find_dates(text)
    assert (found.value, found.ambiguous) == ("", True)
    assert found.candidates == (day_first, month_first)
    assert [date.value for date in find_dates(text, order="dmy")] == [day_first]
    assert [date.value for date in find_dates(text, order="mdy")] == [month_first]
    assert not find_dates(text, order="dmy")[0].ambiguous


@pytest.mark.parametrize("order", ["dmy", "mdy"])
def test_an_order_changes_nothing_that_is_already_decided(order: Order) -> None:
    for text, value, clock in FORMS:
        assert [(date.value, date.time) for date in find_dates(text, order=order)] == [
            (value, clock)
        ]


def test_offsets_hold_the_date_and_its_time() -> None:
    text = "## Status — 2026-06-16 · 11:18 ET — live (was 02/09/2015), next 16. Juni 2026 um 9:00"
    found = find_dates(text)
    assert [text[date.start : date.end] for date in found] == [
        "2026-06-16 · 11:18 ET",
        "02/09/2015",
        "16. Juni 2026 um 9:00",
    ]
    assert found[0] == FoundDate(12, 33, "2026-06-16", "11:18")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2022-09-30/2022-10-02", ["2022-09-30", "2022-10-02"]),
        ("10/17/2018-10/19/2018", ["2018-10-17", "2018-10-19"]),
        ("June 2026-06-16", ["2026-06-16"]),
        ("31 June 2026, 30 June 2026", ["2026-06-30"]),
        ("2024-06 - 2024-09", ["2024-06", "2024-09"]),
        ("Items 3, 2026年6月16日", ["2026-06-16"]),
        ("12-11-2018-12-05", ["2018-12-05"]),
        ("2021-22 2026-06-16 10:00 2026-06-17 11:00", ["2026-06-16", "2026-06-17"]),
    ],
)
def test_neighbours_are_told_apart(text: str, values: list[str]) -> None:
    assert [date.value for date in find_dates(text)] == values


def test_every_month_is_known_by_each_of_its_names_and_spellings() -> None:
    for number, names in enumerate(MONTHS, start=1):
        for name in names.split():
            bare = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", name))
            for spelling in (name, name.upper(), name.title(), bare):
                (found,) = find_dates(f"7 {spelling} 2026")
                assert found.value == f"2026-{number:02}-07", spelling
                assert bool(find_dates(f"{name} 2026")) == (name not in WEAK_NAMES)


@pytest.mark.parametrize(("path", "date", "year", "year_only"), PATHS)
def test_a_path_is_dated_by_its_name_then_its_folders(
    path: str, date: tuple[str, str] | None, year: int | None, year_only: str | None
) -> None:
    assert (date_of_path(path), year_of_path(path)) == (date, year)
    assert year_only_of_path(path) == year_only


def test_an_order_dates_an_ambiguous_file_name() -> None:
    assert date_of_path("x/02-09-2015.md") is None
    assert date_of_path("x/02-09-2015.md", order="dmy") == ("2015-09-02", "name")
    assert date_of_path("02-09-2015/x.md", order="mdy") == ("2015-02-09", "folder")


@pytest.mark.parametrize(("value", "day"), YAML_VALUES, ids=repr)
def test_a_yaml_value_gives_a_day_a_month_or_nothing(value: object, day: str | None) -> None:
    assert iso_day(value) == day


@pytest.mark.parametrize(("value", "words"), WORDS)
def test_a_date_gives_its_search_words(value: str, words: str) -> None:
    assert date_words(value) == words


# What holds for any date and any text.

ENGLISH = list(calendar.month_name)
WRITERS: list[Callable[[datetime.date], str]] = [
    lambda d: d.isoformat(),
    lambda d: d.isoformat().replace("-", "–"),
    lambda d: f"{d:%Y/%m/%d}",
    lambda d: f"{d:%Y.%m.%d}",
    lambda d: f"{d:%Y_%m_%d}",
    lambda d: f"{d:%Y%m%d}",
    lambda d: f"{d.year}-{d.month}-{d.day}",
    lambda d: f"{d.year}/{d.month}/{d.day}",
    lambda d: f"{d.year}年{d.month}月{d.day}日",
    lambda d: f"{d.year}년 {d.month}월 {d.day}일",
    lambda d: f"{d:%d.%m.%Y}",
    lambda d: f"{d.day}.{d.month}.{d.year}",
    lambda d: f"{ENGLISH[d.month]} {d.day}, {d.year}",
    lambda d: f"{ENGLISH[d.month][:3]} {d.day:02} {d.year}",
    lambda d: f"{d.day} {ENGLISH[d.month]} {d.year}",
    lambda d: f"{d.day}-{ENGLISH[d.month][:3]}-{d.year}",
    lambda d: f"{d.day}th of {ENGLISH[d.month]} {d.year}",
    lambda d: f"{d.day} {ENGLISH[d.month][:3]} '{d.year % 100:02}",
    lambda d: f"{d.day}. {MONTHS[d.month - 1].split()[1].title()} {d.year}",
    lambda d: f"{d.year}-{ENGLISH[d.month][:3]}-{d.day:02}",
]
ORDERED: list[tuple[Order, Callable[[datetime.date], str]]] = [
    ("dmy", lambda d: f"{d:%d/%m/%Y}"),
    ("mdy", lambda d: f"{d.month}/{d.day}/{d.year}"),
    ("dmy", lambda d: f"{d:%d-%m-%Y}"),
    ("mdy", lambda d: f"{d:%m_%d_%Y}"),
]
DAYS = st.dates(datetime.date(1990, 1, 1), datetime.date(2089, 12, 31))
CLOCKS = st.times().map(lambda clock: f"{clock:%H:%M}")
AROUND = st.sampled_from(["", " ", "(", "（", "## Status — ", "notes_", "**", "会议", "Tuesday, "])
BEHIND = st.sampled_from(["", " ", ")", "）", ": green", ".md", " notes", "**", "時点", ", then"])
PIECES = [*"0123456789 -/.:_,'年月日–T+İ", "20", "2026", "June ", "mar", "1-", "10:", " pm"]
DATE_LIKE = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(day=DAYS, write=st.sampled_from(WRITERS), before=AROUND, behind=BEHIND)
@settings(deadline=None)
def test_any_day_written_in_any_form_comes_back(
    day: datetime.date, write: Callable[[datetime.date], str], before: str, behind: str
) -> None:
    written = write(day)
    (found,) = find_dates(before + written + behind)
    assert (found.value, found.time) == (day.isoformat(), "")
    assert (found.start, found.end) == (len(before), len(before + written))


@given(day=DAYS, ordered=st.sampled_from(ORDERED))
@settings(deadline=None)
def test_any_day_comes_back_in_the_order_given_and_is_a_candidate_without(
    day: datetime.date, ordered: tuple[Order, Callable[[datetime.date], str]]
) -> None:
    order, write = ordered
    assert [date.value for date in find_dates(write(day), order=order)] == [day.isoformat()]
    (found,) = find_dates(write(day))
    assert day.isoformat() in (found.candidates if found.ambiguous else (found.value,))


@given(day=DAYS, clock=CLOCKS, write=st.sampled_from(WRITERS))
@settings(deadline=None)
def test_a_time_on_either_side_belongs_to_the_date(
    day: datetime.date, clock: str, write: Callable[[datetime.date], str]
) -> None:
    for text in (f"{write(day)} · {clock} ET", f"{clock} UTC, {write(day)}"):
        (found,) = find_dates(text)
        assert (found.value, found.time) == (day.isoformat(), clock)
        assert (found.start, found.end) == (0, len(text))


@given(day=DAYS)
@settings(deadline=None)
def test_the_year_of_the_folder_completes_any_day_in_a_file_name(day: datetime.date) -> None:
    for name in (f"{day:%m-%d}", f"{ENGLISH[day.month]} {day.day}", f"{day:%m-%d}-notes"):
        path = f"minutes/{day.year}/{name}.md"
        assert date_of_path(path) == (day.isoformat(), "folder")
    assert iso_day(day) == iso_day(int(f"{day:%Y%m%d}")) == day.isoformat()


@given(
    text=st.one_of(st.text(), DATE_LIKE),
    year=st.none() | st.integers(),
    order=st.sampled_from([None, "dmy", "mdy"]),
)
@example(text="\u0130 2026-06-16 \u0130", year=None, order=None)
@example(text="\u0662\u0660\u0662\u0666-\u0660\u0666-\u0661\u0666 ²⁰²⁶", year=2025, order=None)
@settings(deadline=None, max_examples=500)
def test_any_text_gives_true_ordered_offsets_and_real_days(
    text: str, year: int | None, order: Order | None
) -> None:
    behind_last = 0
    for found in find_dates(text, year=year, order=order):
        assert behind_last <= found.start < found.end <= len(text)
        assert any(sign.isdigit() for sign in text[found.start : found.end])
        assert found.ambiguous == (found.value == "") == (len(found.candidates) == 2)
        for value in found.candidates or (found.value,):
            day = datetime.date.fromisoformat(value if len(value) == 10 else f"{value}-01")
            assert 1990 <= day.year <= 2099
        assert re.fullmatch("|([01][0-9]|2[0-3]):[0-5][0-9]", found.time)
        behind_last = found.end
    assert (date_of_path(text) or ("", ""))[1] in ("", "name", "folder")
    assert iso_day(text) is None or date_words(iso_day(text) or "")
    assert len(year_only_of_path(text) or "2026") == 4


@pytest.mark.parametrize(
    "text",
    [
        "1" * 100_000,
        "-" * 100_000,
        "'" * 100_000,
        "1-" * 50_000,
        "2026-" * 20_000,
        "12/" * 33_000,
        "1. " * 33_000,
        "june " * 20_000 + "2026",
        "june 1 " * 14_000 + "2026",
        "1 june " * 14_000 + "2026",
        "20 mar, " * 12_000 + "2026",
        "2026-06-16" + " " * 100_000,
        "2026-06-16" + "(" * 100_000,
        " " * 100_000 + "2026-06-16",
        "10:00 " * 16_000 + "2026-06-16",
        "a" * 100_000 + "2026-06-16",
        "2026/" * 20_000,
    ],
    ids=lambda text: text[:12],
)
def test_time_grows_only_with_length(text: str) -> None:
    start = time.thread_time()
    find_dates(text)
    find_dates(text, year=2026)
    date_of_path(text)
    year_only_of_path(text)
    assert time.thread_time() - start < 4 * 0.5
