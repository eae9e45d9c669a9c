"""An answer and its parts as values: how each one prints, and that the printed form reads back."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from workingset_mcp.answers.answer import (
    Answer,
    Call,
    Source,
    fit_answer,
    header,
    marked_line,
    printed,
    put_together,
    quoted_block,
    shown_warnings,
)
from workingset_mcp.answers.brief.structure import runs_of
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.errors import ArgumentError
from workingset_mcp.escaping import show_line

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=40)
BODIES = st.lists(WORDS.map("{}\n".format), max_size=30).map("".join)


def test_a_source_prints_as_a_path_with_its_lines() -> None:
    assert str(Source("a.md")) == "a.md"
    assert str(Source("a.md", 12)) == str(Source("a.md", 12, 12)) == "a.md:12"
    assert str(Source("a.md", 12, 40)) == "a.md:12-40"


def test_a_line_ends_in_all_its_sources_and_a_forged_mark_is_escaped() -> None:
    line = marked_line("Oil it _[b.md:1]_", Source("a.md", 3), Source("c.md", 4), also=" · done")
    assert line == "Oil it _\\[b.md:1]_ _[a.md:3, c.md:4 · done]_"


@given(st.sets(st.integers(1, 60), min_size=1))
def test_a_quote_names_every_line_and_no_other(numbers: set[int]) -> None:
    runs = runs_of("a.md", sorted(numbers))
    place = quoted_block("text", 2, *runs).split("\n")[0].removesuffix(" -->").rpartition(" ")[2]
    named = set()
    for run in place.removeprefix("a.md:").split(","):
        first, _, last = run.partition("-")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == numbers


@given(st.dictionaries(st.sampled_from(["branch", "query", "since"]), st.text(max_size=30)))
def test_a_call_is_on_one_line_and_reads_back(arguments: dict[str, str]) -> None:
    text = str(Call("query_full_context", arguments))
    assert text.splitlines() == [text]
    read = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*")', text)
    told = {name: value.encode("utf-8", "replace").decode() for name, value in arguments.items()}
    assert {name: json.loads(value) for name, value in read} == told


def test_a_call_with_more_arguments_leaves_the_first_as_it_was() -> None:
    call = Call("query_full_context", {"branch": "cust/acme"})
    assert str(call.adding(cursor="p2.x")) == (
        'query_full_context(branch="cust/acme", cursor="p2.x")'
    )
    assert str(call) == 'query_full_context(branch="cust/acme")'


def test_an_answer_names_each_note_once_in_order() -> None:
    sources = (Source("b.md", 1), Source("a.md", 2, 4), Source("b.md", 9))
    assert Answer("a", "", None, sources=sources).notes == ("b.md", "a.md")


@given(body=BODIES, warnings=st.lists(WORDS, max_size=4), budget=st.integers(200, 24_000))
def test_a_printed_answer_is_header_warnings_and_body_and_costs_what_it_says(
    body: str, warnings: list[str], budget: int
) -> None:
    answer = Answer("search", body, None, warnings=tuple(warnings))
    made = put_together(answer, budget=budget, state="index current")
    text = printed(made)
    lines = [header(made), *(f"warning: {show_line(warning)}" for warning in warnings)]
    assert text == "".join(f"{line}\n" for line in lines) + body
    assert made.tokens == count_tokens(text)
    assert f" · {made.cost:,}/{budget:,} tokens · index current" in header(made)


@given(
    lines=st.lists(WORDS, max_size=60),
    budget=st.integers(30, 600),
    max_bytes=st.none() | st.integers(100, 2_000),
)
def test_a_fitted_answer_keeps_its_budget_or_is_refused(
    lines: list[str], budget: int, max_bytes: int | None
) -> None:
    def compose(room: int) -> Answer[None]:
        kept, used = [], 0
        for line in lines:
            used += count_tokens(f"{line}\n")
            if used > room - 30:
                break
            kept.append(f"{line}\n")
        return put_together(Answer("a", "".join(kept), None), budget=budget, state="current")

    try:
        text = printed(fit_answer(compose, budget=budget, max_bytes=max_bytes))
    except ArgumentError:
        text = ""  # not even the header fits
    assert count_tokens(text) <= budget
    assert max_bytes is None or len(text.encode()) <= max_bytes


def test_many_warnings_are_counted_and_named_with_the_call_that_lists_them() -> None:
    many = [f"remark {number}" for number in range(9)]
    assert shown_warnings(many, tight=False) == [
        *many[:4],
        '5 more remarks: list_items(kind="remark")',
    ]
    assert shown_warnings(many, tight=True) == [
        "remark 0",
        '8 more remarks: list_items(kind="remark")',
    ]
    assert shown_warnings(["word " * 80], tight=True) == ['1 remark: list_items(kind="remark")']
    assert shown_warnings(many[:5], tight=False) == many[:5]
    assert shown_warnings([], tight=True) == []
