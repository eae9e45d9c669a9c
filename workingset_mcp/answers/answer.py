"""How an answer is put together: its header line, warnings, and boundaries notes cannot forge.

The first line is the server's word, with the tokens of the whole answer in it. Pure. Not here: what
the body says.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workingset_mcp.answers.budget import (
    MOST_BUDGET,
    Counted,
    count_tokens,
    estimate_tokens,
    fits,
    is_counted_exactly,
    priced,
)
from workingset_mcp.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before its header: what it is about, warnings, text, and the notes it quotes.

    `tokens`: of the body, where its parts were counted one by one. Texts that each end with a line end
    and begin with neither a blank nor a slash cost together what they cost alone.
    """

    subject: str
    body: str
    warnings: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    found: bool = True
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What the client at the other end lets through."""

    most_tokens: int = MOST_BUDGET
    max_bytes: int | None = None


_BACKTICKS = re.compile(r"`{3,}")
_SOURCE_MARK = re.compile(r"_(?=\[[^\n]*\]_)")
_FENCE = re.compile(r"((?: {0,3}> ?)*+) {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_MOST_WARNINGS = 5
_TIGHT_WARNING_TOKENS = 60


def checked_budget(
    budget: int | None, default: int, least: int, most: int = MOST_BUDGET
) -> tuple[int, str]:
    """The budget that holds, and a warning when it was lowered. Raises ArgumentError below `least`."""
    asked = default if budget is None else budget
    if asked < least:
        if budget is None:
            return least, ""
        raise ArgumentError(
            f"budget={asked} is too small.", f"Give {least} to {most:,} tokens, or leave it out."
        )
    if asked > most:
        return (
            most,
            f"warning: budget lowered from {asked:,} to {most:,}, the most here" if budget else "",
        )
    return asked, ""


def put_together(
    subject: str, body: str, *, budget: int, state: str, margin: float = 1.0,
    warnings: Sequence[str] = (), body_tokens: int | None = None,
) -> Counted:  # fmt: skip
    """Header line, warnings, body. The header counts the whole answer, itself included."""
    above = "".join(f"{line}\n" for line in warnings)
    tokens, before = body_tokens or estimate_tokens(above + body), ""

    def counted_with(first: str) -> int:
        whole = first + above + body
        if body_tokens is None or not is_counted_exactly(whole):
            return count_tokens(whole)
        return count_tokens(first + above) + body_tokens

    for _ in range(4):
        first = f"[workingset] {subject} · {priced(tokens, margin):,}/{budget:,} tokens · {state}\n"
        if len(first) == len(before) and count_tokens(first) == count_tokens(before):
            break  # only digits differ from what was counted
        exact = counted_with(first)
        if exact == tokens:
            break
        tokens, before = exact, first
    else:
        tokens = counted_with(first)
    return Counted(first + above + body, tokens)


def fit_answer(
    compose: Callable[[int], Counted], *, budget: int, max_bytes: int | None, margin: float = 1.0
) -> str:
    """The fullest answer within the law: `compose` is asked with ever less room until it fits.

    `compose` takes tokens to fill and returns the final text, counted. Raises ArgumentError when even its
    least does not fit.
    """
    room = int(budget / margin)
    if max_bytes is not None:
        room = min(room, max_bytes)
    step = 4
    while room >= 0:
        made = compose(room)
        text, tokens = made
        if fits(made, budget, max_bytes, margin):
            return text
        scale = budget / priced(tokens, margin)
        if max_bytes is not None:
            scale = min(scale, max_bytes / len(text.encode("utf-8")))
        room = min(int(min(room, tokens) * scale), room - step)
        step *= 2
    raise ArgumentError(
        f"The answer does not fit into {budget:,} tokens"
        + (f" and {max_bytes:,} bytes." if max_bytes else "."),
        "Ask with a larger budget.",
    )


def shown_warnings(warnings: Sequence[str], *, tight: bool) -> list[str]:
    """Warnings as lines; where it is tight only their count and where to read them."""
    if not warnings:
        return []
    most = 1 if tight else _MOST_WARNINGS
    lines = [f"warning: {line}" for line in warnings]
    if len(lines) <= most and not (tight and count_tokens(lines[0]) > _TIGHT_WARNING_TOKENS):
        return lines
    kept = lines[: most if tight else most - 1]
    if tight and count_tokens(kept[0]) > _TIGHT_WARNING_TOKENS:
        kept = []
    rest = counted(len(lines) - len(kept), "more remark" if kept else "remark")
    return [*kept, f'warning: {rest}: list_items(kind="remark")']


def fenced(text: str) -> str:
    """Text of a note inside a fence longer than any run of backticks in it.

    When the text has no line end at its end, one is added before the closing fence.
    """
    runs = _BACKTICKS.findall(text) if "```" in text else ()
    longest = max(map(len, runs), default=2)
    fence = "`" * (longest + 1)
    end = "" if text.endswith(("\n", "\r")) or not text else "\n"
    return f"{fence}\n{text}{end}{fence}"


def closing_fence(lines: Sequence[str]) -> list[str]:
    """The line that closes a code block which these lines leave open; none when they close it."""
    opened = prefix = ""
    for line in lines:
        if opened and prefix and not line.lstrip().startswith(">"):
            opened = ""  # a block inside a quote ends with the quote
        matched = _FENCE.match(line)
        if not matched:
            continue
        if not opened:
            prefix, opened = matched[1], matched[2]
        elif matched[2].startswith(opened) and not matched[3].strip():
            opened = ""
    return [prefix + opened] if opened else []


def quoted_block(text: str, number: int, source: str) -> str:
    """Text of a note inside a pair of comments whose closing mark is not in the text."""
    while f"<!-- /quote {number} -->" in text:
        number += 1
    end = "" if text.endswith("\n") else "\n"
    return f"<!-- quote {number} {source} -->\n{text}{end}<!-- /quote {number} -->"


def source_mark(*sources: str) -> str:
    """The mark that ends a line of a brief: where the line comes from."""
    return f"_[{', '.join(sources)}]_"


def marked_line(text: str, *sources: str) -> str:
    """A line of a note with its source behind it; look-alikes of our mark in it are escaped."""
    escaped = _SOURCE_MARK.sub(r"\\_", text)
    return f"{escaped} {source_mark(*sources)}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 note`, `2 notes`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
