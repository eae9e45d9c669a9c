"""Compose the answer to a search: passages, absent words, weakness, and the next step.

Pure, apart from reading the given snapshot.
"""

from dataclasses import dataclass

from workingset_mcp.answers.answer import Answer, counted
from workingset_mcp.answers.budget import clipped, count_tokens, echo_tokens
from workingset_mcp.answers.search.pack import Passage, pack
from workingset_mcp.answers.search.query import Query
from workingset_mcp.answers.search.rank import MOST_ABSENT, Ranking
from workingset_mcp.escaping import show_line, show_name
from workingset_mcp.index import Scope, View

ASK_FOR_ALSO = 'search again with also=["…", …]: 3 to 6 other words a note might use'


@dataclass(frozen=True, slots=True)
class Found:
    """The content of a search answer: the passages shown, best first, and facts about the result."""

    passages: tuple[Passage, ...] = ()
    named: tuple[Passage, ...] = ()  # notes found only by their tags or names
    absent: tuple[tuple[str, tuple[str, ...]], ...] = ()  # words no note contains, with near ones
    weak: bool = False
    matching_notes: int = 0


def compose_search(
    query: Query, ranking: Ranking, snapshot: View, limits: Scope, room: int,
    *, is_whole: bool = True,
) -> Answer[Found]:  # fmt: skip
    """Compose the answer to a search within about `room` tokens. `is_whole`: every note of the scope was read."""
    lines = _notices(query, ranking, limits, room)
    if not ranking.ranked:
        text = _nothing(query, lines, snapshot, limits, room, is_whole=is_whole)
        return Answer("search · nothing found", text, Found(absent=ranking.absent), found=False)
    notices = "".join(f"{line}\n" for line in lines)
    passages, _ = pack(ranking.ranked, ranking.weighed, room - 40 - count_tokens(notices[:-1]))
    shown = [passage for passage in passages if passage.runs]
    shown_notes = {passage.ranked.note.path for passage in shown}
    notes = {passage.ranked.note.path for passage in passages}
    copies = {copy.path for passage in passages for copy in passage.copies}
    more = ranking.matched_notes - len(copies | notes)
    last = ""
    if more > 0:
        name = show_name(ranking.ranked[0].note.branch)
        fitting = not limits.branch and clipped(name, echo_tokens(room, 6)) == name
        narrower = f', or branch="{name}"' if fitting else ""
        last = f"{counted(more, 'more note matches', 'more notes match')}: raise budget, add words{narrower}\n"
    subject = f"search · {counted(len(shown), 'passage')} from {counted(len(shown_notes), 'note')}"
    body = f"{notices}{''.join(passage.text for passage in passages)}{last}"
    tokens = count_tokens(notices) + sum(p.tokens for p in passages) + count_tokens(last)
    found = Found(
        tuple(shown), tuple(one for one in passages if not one.runs), ranking.absent, ranking.weak,
        ranking.matched_notes,
    )  # fmt: skip
    sources = tuple(source for passage in passages for source in passage.sources)
    return Answer(subject, body, found, sources=sources, body_tokens=tokens)


def _notices(query: Query, ranking: Ranking, limits: Scope, room: int) -> list[str]:
    lines, most = [], echo_tokens(room, 6)
    if ranking.absent:
        where = f"in {clipped(show_name(limits.branch), most)}" if limits.branch else "in any note"
        words = ", ".join(word[:40] for word, _ in ranking.absent[:MOST_ABSENT])
        words = clipped(show_line(words), echo_tokens(room, 4))
        near = dict.fromkeys(near for _, nears in ranking.absent for near in nears)
        nearest = clipped(show_line(", ".join(near)), most)
        lines.append(f"not {where}: {words}" + (f" · nearest: {nearest}" if nearest else ""))
    if query.named:
        named = clipped(show_line(", ".join(query.named[:8])), most)
        lines.append(f"searched too (glossary): {named}")
    if ranking.weak:
        lines.append(
            "weak: no passage covers much of the question. Treat it as not found unless a passage states"
            + (" the answer" if query.also else f" the answer; else {ASK_FOR_ALSO}")
        )
    return lines


def _nothing(
    query: Query, lines: list[str], snapshot: View, limits: Scope, room: int, *, is_whole: bool
) -> str:
    branch = clipped(show_name(limits.branch or ""), echo_tokens(room, 6))
    searched = [f"branch {branch}" if limits.branch else "the whole vault"]
    if limits.since or limits.until:
        searched.append(f"dated {limits.since or '…'} to {limits.until or '…'}")
    notes = len(snapshot.notes(limits.branch)) if limits.branch else snapshot.note_count()
    text = f"Nothing found in {', '.join(searched)} ({counted(notes, 'note')})."
    if not query.concepts:
        return f"Nothing to search for in that query: it holds no word. {text}\n"
    otherwise = (
        "else say that it is not there."
        if is_whole
        else "else say that it was not found, and that not every note could be read."
    )
    hint = f"If it may be worded otherwise, {ASK_FOR_ALSO}; {otherwise}"
    return "".join(f"{line}\n" for line in [text, *lines, hint])
