"""Compose the answer to a search: passages, absent words, weakness, and the next step.

Pure, apart from reading the given snapshot.
"""

from dataclasses import dataclass

from workingset_mcp.answers.answer import Answer, counted
from workingset_mcp.answers.budget import count_tokens
from workingset_mcp.answers.search.pack import Passage, pack
from workingset_mcp.answers.search.query import Query
from workingset_mcp.answers.search.rank import MOST_ABSENT, Ranking
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
    query: Query, ranking: Ranking, snapshot: View, limits: Scope, room: int
) -> Answer[Found]:
    """Compose the answer to a search within about `room` tokens."""
    lines = _notices(query, ranking, limits)
    if not ranking.ranked:
        text = _nothing(query, lines, snapshot, limits)
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
        narrower = "" if limits.branch else f', or branch="{ranking.ranked[0].note.branch}"'
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


def _notices(query: Query, ranking: Ranking, limits: Scope) -> list[str]:
    lines = []
    if ranking.absent:
        where = f"in {limits.branch}" if limits.branch else "in any note"
        words = ", ".join(word[:40] for word, _ in ranking.absent[:MOST_ABSENT])
        nearest = ", ".join(dict.fromkeys(near for _, nears in ranking.absent for near in nears))
        lines.append(f"not {where}: {words}" + (f" · nearest: {nearest}" if nearest else ""))
    if query.named:
        lines.append(f"searched too (glossary): {', '.join(query.named[:8])}")
    if ranking.weak:
        lines.append(
            "weak: no passage covers much of the question. Treat it as not found unless a passage states"
            + (" the answer" if query.also else f" the answer; else {ASK_FOR_ALSO}")
        )
    return lines


def _nothing(query: Query, lines: list[str], snapshot: View, limits: Scope) -> str:
    searched = [f"branch {limits.branch}" if limits.branch else "the whole vault"]
    if limits.since or limits.until:
        searched.append(f"dated {limits.since or '…'} to {limits.until or '…'}")
    notes = len(snapshot.notes(limits.branch)) if limits.branch else snapshot.note_count()
    text = f"Nothing found in {', '.join(searched)} ({counted(notes, 'note')})."
    if not query.concepts:
        return f"Nothing to search for in that query: it holds no word. {text}\n"
    hint = f"If it may be worded otherwise, {ASK_FOR_ALSO}; else say that it is not there."
    return "".join(f"{line}\n" for line in [text, *lines, hint])
