"""The answer as a value, and how it is printed: header line, warnings, body, and marks notes cannot forge.

An answer is composed without a header; `put_together` adds the budget, the state and the cost. Only
`printed` turns it into text; other code reads its fields. Pure. Not here: what the body says.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from workingset_mcp.answers.budget import (
    LEAST_BUDGET,
    MOST_BUDGET,
    clipped,
    count_tokens,
    estimate_tokens,
    fits,
    is_counted_exactly,
    priced,
)
from workingset_mcp.caller import stop_if_gone
from workingset_mcp.errors import ArgumentError, WorkingsetError
from workingset_mcp.escaping import holds_unseen, show_line, show_name, write_json

Content = TypeVar("Content", covariant=True)


class Source(NamedTuple):
    """A range of lines of a note, both ends included; the whole note if `first` is 0."""

    path: str
    first: int = 0
    last: int = 0  # 0: the line `first` alone

    @property
    def lines(self) -> str:
        """`12`, `12-40`, or the empty string for the whole note."""
        if not self.first:
            return ""
        return f"{self.first}-{self.last}" if self.last > self.first else str(self.first)

    def __str__(self) -> str:
        name = show_name(self.path)
        return f"{name}:{self.lines}" if self.first else name


class Call(NamedTuple):
    """A tool call that an answer suggests as the next step."""

    tool: str
    arguments: Mapping[str, str]

    @property
    def written_arguments(self) -> str:
        """The arguments as the call prints them: always on one line."""
        return ", ".join(f"{name}={quoted(value)}" for name, value in self.arguments.items())

    def adding(self, **arguments: str) -> "Call":
        """Return the same call with more arguments."""
        return Call(self.tool, {**self.arguments, **arguments})

    def __str__(self) -> str:
        return f"{self.tool}({self.written_arguments})"


@dataclass(frozen=True, slots=True)
class Answer(Generic[Content]):
    """The answer to a call: as text for an agent (`body`), as values for a program (`content`).

    `put_together` sets `state`, `budget`, `tokens` and `cost`.
    """

    subject: str
    body: str
    content: Content
    warnings: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    found: bool = True
    next_calls: tuple[Call, ...] = ()
    # Tokens of the body, if its parts were counted one by one: counts add up when each part ends in a
    # newline and the next starts with neither space nor slash.
    body_tokens: int | None = None
    state: str = ""
    budget: int = 0
    tokens: int = 0  # of the whole printed answer
    cost: int = 0  # `tokens` times the margin of the settings; the header names it

    @property
    def notes(self) -> tuple[str, ...]:
        """Paths of the notes that the answer quotes, each once."""
        return tuple(dict.fromkeys(source.path for source in self.sources))


def header(answer: Answer[object]) -> str:
    """Return the first line of a printed answer, without its line end."""
    return (
        f"[workingset] {answer.subject} · {answer.cost:,}/{answer.budget:,} tokens · {answer.state}"
    )


def printed(answer: Answer[object]) -> str:
    """Return the text that a client gets. Nothing parses this text again."""
    return f"{header(answer)}\n{_warning_lines(answer.warnings)}{answer.body}"


def _warning_lines(warnings: Sequence[str]) -> str:
    return "".join(f"warning: {show_line(line)}\n" for line in warnings)


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest answer that a client accepts."""

    most_tokens: int = MOST_BUDGET
    max_bytes: int | None = None

    def left_beside(self, text: str, reserved: float = 0.0) -> "Limits":
        """What is left beside a text, less a share that is kept for more."""
        tokens = int((self.most_tokens - count_tokens(text)) * (1 - reserved))
        size = self.max_bytes
        if size is not None:
            size = int((size - len(text.encode("utf-8", "replace"))) * (1 - reserved))
        return Limits(tokens, size)


_BACKTICKS = re.compile(r"`{3,}")
_SOURCE_MARK = re.compile(r"_(?=\[[^\n]*\]_)")
_FENCE = re.compile(r"((?: {0,3}> ?)*+) {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_COMMENT_ENDS = re.compile(r"<(?=!--)|(?<=--)>|(?<=--!)>")
LONGEST_LINE = 1_000  # characters of one item in a list
SHORTEST_CUT = 200
_MOST_NAMED = 5  # lines that look like boxes
_MOST_WARNINGS = 5
_TIGHT_WARNING_TOKENS = 60
_MOST_REFUSAL_TOKENS = 2_000  # where a call names no budget


def checked_budget(
    budget: int | None, default: int, least: int, most: int = MOST_BUDGET
) -> tuple[int, str]:
    """Return the effective budget, and a warning if it was lowered. Raises ArgumentError below `least`."""
    tokens = default if budget is None else budget
    if tokens < least:
        if budget is None:
            return least, ""
        raise ArgumentError(
            f"budget={tokens} is too small.", f"Give {least} to {most:,} tokens, or leave it out."
        )
    if tokens > most:
        return most, f"budget lowered from {tokens:,} to {most:,}, the most here" if budget else ""
    return tokens, ""


def put_together(
    answer: Answer[Content], *, budget: int, state: str, margin: float = 1.0
) -> Answer[Content]:
    """Add the budget, the state, and the cost of the printed answer, header included."""
    if holds_unseen(answer.body):  # inside a quote: elsewhere it is escaped
        answer = replace(answer, subject=f"{answer.subject} · holds invisible characters")
    below = f"{_warning_lines(answer.warnings)}{answer.body}"
    above = below[: len(below) - len(answer.body)]
    tokens, before = answer.body_tokens or estimate_tokens(below), ""

    def counted_with(first: str) -> int:
        whole = first + below
        if answer.body_tokens is None or not is_counted_exactly(whole):
            return count_tokens(whole)
        return count_tokens(first + above) + answer.body_tokens

    for _ in range(4):
        answer = replace(answer, budget=budget, state=state, cost=priced(tokens, margin))
        first = f"{header(answer)}\n"
        if len(first) == len(before) and count_tokens(first) == count_tokens(before):
            break  # only digits differ from what was counted
        exact = counted_with(first)
        if exact == tokens:
            break
        tokens, before = exact, first
    else:
        tokens = counted_with(first)
    return replace(answer, tokens=tokens)


def fit_answer(
    compose: Callable[[int], Answer[Content]],
    *,
    budget: int,
    max_bytes: int | None,
    margin: float = 1.0,
) -> Answer[Content]:
    """Return the fullest answer within the budget: call `compose` with less room until its answer fits.

    `compose` takes the number of tokens to fill and returns an answer from `put_together`. Raises
    ArgumentError if even the shortest answer does not fit.
    """
    room = int(budget / margin)
    if max_bytes is not None:
        room = min(room, max_bytes)
    step = 4
    while room >= 0:
        stop_if_gone()
        made = compose(room)
        text = printed(made)
        if fits(text, made.tokens, budget, max_bytes, margin):
            return made
        scale = budget / priced(made.tokens, margin)
        if max_bytes is not None:
            scale = min(scale, max_bytes / len(text.encode("utf-8")))
        room = min(int(min(room, made.tokens) * scale), room - step)
        step *= 2
    raise ArgumentError(
        f"The answer does not fit into {budget:,} tokens"
        + (f" and {max_bytes:,} bytes." if max_bytes else "."),
        "Ask with a larger budget.",
    )


def fit_refusal(
    error: WorkingsetError, budget: int | None, limits: Limits, margin: float = 1.0
) -> str:
    """Return the text of a refusal within the budget and the bytes of its client; the hint is cut first."""
    asked = _MOST_REFUSAL_TOKENS if budget is None else max(budget, LEAST_BUDGET)
    most = int(min(asked, limits.most_tokens) / margin)
    message = clipped(error.message, most * 2 // 3)
    hint = clipped(error.hint, most - count_tokens(message) - 1)
    text = f"{message} {hint}".strip()
    raw = text.encode("utf-8", "replace")
    if limits.max_bytes is None or len(raw) <= limits.max_bytes:
        return raw.decode("utf-8")
    return raw[: limits.max_bytes - 3].decode("utf-8", "ignore") + "…"


def shown_warnings(warnings: Sequence[str], *, tight: bool) -> list[str]:
    """Return the warnings to print; if room is `tight`, at most one, and a count with the call for the rest."""
    if not warnings:
        return []
    most = 1 if tight else _MOST_WARNINGS
    long = tight and count_tokens(f"warning: {warnings[0]}") > _TIGHT_WARNING_TOKENS
    if len(warnings) <= most and not long:
        return list(warnings)
    kept = [] if long else list(warnings[: most if tight else most - 1])
    rest = counted(len(warnings) - len(kept), "more remark" if kept else "remark")
    return [*kept, f'{rest}: list_items(kind="remark")']


def fenced(text: str) -> str:
    """Put text of a note into a fence longer than any run of backticks in it.

    If the text does not end in a newline, one is added before the closing fence.
    """
    runs = _BACKTICKS.findall(text) if "```" in text else ()
    longest = max(map(len, runs), default=2)
    fence = "`" * (longest + 1)
    end = "" if text.endswith(("\n", "\r")) or not text else "\n"
    return f"{fence}\n{text}{end}{fence}"


def closing_fence(lines: Sequence[str]) -> list[str]:
    """Return the line that closes the code block these lines leave open; empty if they leave none open."""
    opening = prefix = ""
    for line in lines:
        if opening and prefix and not line.lstrip().startswith(">"):
            opening = ""  # a code block inside a block quote ends with it
        matched = _FENCE.match(line)
        if not matched:
            continue
        if not opening:
            prefix, opening = matched[1], matched[2]
        elif matched[2].startswith(opening) and not matched[3].strip():
            opening = ""
    return [prefix + opening] if opening else []


def quoted_block(text: str, number: int, *runs: Source) -> str:
    """Put text of a note between two comments; the closing one does not occur in the text.

    `runs`: the line ranges that the text comes from, all of one note.
    """
    while f"<!-- /quote {number} -->" in text:
        number += 1
    place = ",".join([str(runs[0]), *(run.lines for run in runs[1:])])
    end = "" if text.endswith("\n") else "\n"
    return f"<!-- quote {number} {place} -->\n{text}{end}<!-- /quote {number} -->"


def source_mark(*sources: Source, also: str = "") -> str:
    """Return the mark at the end of a line of a brief: its sources, then `also`."""
    return f"_[{', '.join(map(str, sources))}{also}]_"


def marked_line(text: str, *sources: Source, also: str = "") -> str:
    """Add its sources to a line of a note; escape invisible characters and what looks like a source mark."""
    return f"{unmarked_line(text)} {source_mark(*sources, also=also)}"


def unmarked_line(text: str) -> str:
    """Escape invisible characters of a note's text, and what looks like a source mark."""
    return _SOURCE_MARK.sub(r"_\\", show_line(text))


def cut_line(text: str, source: Source, room_tokens: int) -> str:
    """Cut a very long line of a note, with a mark that says how to read the rest.

    Without the cut, one pasted page would take the room of every line behind it.
    """
    most = min(LONGEST_LINE, max(SHORTEST_CUT, room_tokens))
    if len(text) <= most + SHORTEST_CUT // 2:  # the mark takes about as much
        return text
    kept = text[:most]
    at_blank = kept.rpartition(" ")[0]
    kept = at_blank if len(at_blank) > most // 2 else kept
    arguments = (
        {"path": source.path, "lines": source.lines} if source.first else {"path": source.path}
    )
    call = Call("open_source_file", arguments)
    return f"{kept.rstrip()} … cut, {len(text) - len(kept):,} characters more: {call}"


def unread_line(places: Sequence[Source], most_tokens: int) -> str:
    """Say how many lines look like boxes and are not read, and name the first of them."""
    if not places:
        return ""
    look = counted(len(places), "line looks like a box and is", "lines look like boxes and are")
    named = clipped(", ".join(map(str, places[:_MOST_NAMED])), most_tokens)
    rest = f" and {len(places) - _MOST_NAMED:,} more" if len(places) > _MOST_NAMED else ""
    return f"{look} not read: {named}{rest}\n"


def quoted(value: str) -> str:
    """Quote a value and escape it, so that it fits on one line and reads back unchanged."""
    return _COMMENT_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", write_json(value))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 note`, `2 notes`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
