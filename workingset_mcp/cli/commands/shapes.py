"""The data that `--json` prints: answers as plain values. `docs/json.md` describes them.

A change to the data raises `JSON_SCHEMA_VERSION`. Not here: the envelope (`shared`).
"""

from typing import TYPE_CHECKING, Any

from workingset_mcp.answers.answer import Answer, Source, header
from workingset_mcp.answers.brief import Brief, Overview

if TYPE_CHECKING:  # each import takes milliseconds, and a command needs at most one of them
    from workingset_mcp.answers.full.pages import Page
    from workingset_mcp.answers.listing import Listing
    from workingset_mcp.answers.search import Passage
    from workingset_mcp.answers.search.reply import Found
    from workingset_mcp.answers.source import NotePart

Data = dict[str, Any]


def facts_of(answer: Answer[object]) -> Data:
    """Return the fields of every answer: header, cost, state, warnings and next calls."""
    return {
        "header": header(answer),
        "tokens": answer.tokens,
        "budget": answer.budget,
        "state": answer.state,
        "warnings": list(answer.warnings),
        "next": [
            {"tool": call.tool, "arguments": dict(call.arguments)} for call in answer.next_calls
        ],
    }


def brief_data(answer: Answer[Brief | Overview]) -> Data:
    """Return the sections of a brief, or the branches of the overview."""
    content = answer.content
    if isinstance(content, Overview):
        return {**facts_of(answer), "branches": [line._asdict() for line in content.branches]}
    sections = [{"title": title, "text": text} for title, text in content.sections()]
    return {**facts_of(answer), "branch": content.branch, "sections": sections}


def search_data(answer: "Answer[Found]") -> Data:
    """Return the passages of a search, best first, and the words it did not find."""
    found = answer.content
    return {
        **facts_of(answer),
        "passages": [_passage(passage) for passage in found.passages],
        "named": [passage.ranked.note.path for passage in found.named],
        "absent": [{"word": word, "nearest": list(near)} for word, near in found.absent],
        "weak": found.weak,
        "matching_notes": found.matching_notes,
    }


def _passage(passage: "Passage") -> Data:
    section, note = passage.ranked.section, passage.ranked.note
    return {
        "path": note.path,
        "title": note.title,
        "date": section.date or note.date,
        "headings": list(section.headings),
        "runs": [
            {"first": first, "last": last, "text": text, "cut": cut}
            for first, last, text, cut in passage.runs
        ],
        "copies": [{"path": copy.path, "line": copy.first} for copy in passage.copies],
    }


def open_data(answer: "Answer[NotePart]") -> Data:
    """Return the shown part of a note, and the line range that follows it."""
    shown = answer.content
    part = {**_part(shown.source, shown.text), "next_lines": shown.next_lines}
    return {**facts_of(answer), "part": part}


def full_data(answer: "Answer[Page]") -> Data:
    """Return a page of the full context; a plan is page 0 of 0, with its shards in `next`."""
    page = answer.content
    return {
        **facts_of(answer),
        "page": page.number,
        "pages": page.pages,
        "cursor": str(page.next_cursor) if page.next_cursor else None,
        "extracts": [
            {**_part(shown.source, shown.text), "date": shown.date} for shown in page.shown
        ],
    }


def items_data(answer: "Answer[Listing]") -> Data:
    """Return the total, every group, the items that fit, and the lines that look like boxes and are none."""
    listing = answer.content
    return {
        **facts_of(answer),
        "total": listing.total,
        "undated": listing.undated,
        "items": [
            {
                "branch": one.branch,
                "path": one.path,
                "line": one.line,
                "date": one.date,
                "kind": one.kind,
                "text": one.text,
                "state": one.mark,
                "owners": list(filter(None, one.owners.split("\n"))),
                "due": one.due,
            }
            for one in listing.items
        ],
        "groups": [{"name": name, "count": count} for name, count in listing.groups],
        "unread": [{"path": place.path, "line": place.first} for place in listing.unread],
    }


def _part(source: Source, text: str) -> Data:
    return {"path": source.path, "first": source.first, "last": source.last, "text": text}
