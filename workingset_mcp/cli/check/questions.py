"""The rule on questions: the vault must answer each one, and in the right place.

`workingset-questions.yaml` in the vault root is a list of entries with `question`, `facts`, `where` (brief,
search, source, absent), and optionally `id`, `branch`, `relpath`, `also`.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

import yaml
from rapidfuzz import process

from workingset_mcp.answers.budget import MOST_BUDGET
from workingset_mcp.cli.check.reading import Finding, Reading
from workingset_mcp.errors import WorkingsetError
from workingset_mcp.vault.files import read_without_links
from workingset_mcp.workspace.facade import Workspace

FILE_NAME = "workingset-questions.yaml"
_PLACES = ("brief", "search", "source", "absent")
_FIELDS = ("id", "question", "facts", "where", "branch", "relpath", "also")
_MOST_BYTES = 2_000_000


class Question(NamedTuple):
    """One valid entry of the list."""

    question: str
    facts: tuple[str, ...]
    where: str
    branch: str | None
    relpath: str | None
    also: tuple[str, ...]


class _WrongShape(Exception):
    """A malformed entry or file; the message says what is wrong."""


def unanswered(reading: Reading) -> Iterator[Finding]:
    """WS501: find questions whose facts are not in the place they must be."""
    if not reading.first:
        return
    try:
        raw, _ = read_without_links(reading.workspace.vault.root, FILE_NAME, _MOST_BYTES + 1)
        text, entries = _read(raw)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Finding(FILE_NAME, 0, f"cannot be read: {error.strerror}", "fix the file")
        return
    except _WrongShape as error:
        yield Finding(FILE_NAME, 0, str(error), "begin each question with `- question: …`")
        return
    for number, entry in enumerate(entries, start=1):
        problem = _problem(reading.workspace, entry)
        if problem:
            named = entry.get("id") if isinstance(entry, dict) else None
            name = named if isinstance(named, str | int) else number
            yield Finding(
                FILE_NAME,
                _line_of(text, entry, number),
                f"question {name}: {problem}",
                "fix the notes or the question",
            )


def _read(raw: bytes) -> tuple[str, list[Any]]:
    """Parse the file; return its text and its entries. Raises _WrongShape."""
    if len(raw) > _MOST_BYTES:
        raise _WrongShape(f"cannot be read: over {_MOST_BYTES:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
        entries = yaml.safe_load(text)
    except RecursionError:
        raise _WrongShape("cannot be read: nested too deeply") from None
    except (ValueError, yaml.YAMLError) as error:
        raise _WrongShape(f"cannot be read: {str(error).partition(chr(10))[0]}") from None
    if not isinstance(entries, list):
        raise _WrongShape("is not a list of questions")
    return text, entries


def _question(entry: Any) -> Question:
    """Parse an entry into a question. Raises _WrongShape."""
    question = _words(entry.get("question")) if isinstance(entry, dict) else ""
    if not question:
        raise _WrongShape("has no `question`")
    for key in entry:
        if key not in _FIELDS:
            near = process.extractOne(_words(key), _FIELDS, score_cutoff=60)
            raise _WrongShape(
                f"{_shown(key)} is not a field" + (f"; did you mean `{near[0]}`?" if near else "")
            )
    where = entry.get("where", "search")
    if where not in _PLACES:
        raise _WrongShape(f"`where` is {_shown(where)}, not one of {', '.join(_PLACES)}")
    facts = _texts("facts", entry.get("facts"))
    if not facts:
        raise _WrongShape("has no `facts`")
    return Question(
        question,
        facts,
        where,
        _name("branch", entry.get("branch")),
        _name("relpath", entry.get("relpath")),
        _texts("also", entry.get("also")),
    )


def _texts(key: str, value: Any) -> tuple[str, ...]:
    """Return a text, a number or a list of them as texts. Raises _WrongShape."""
    if value is None:
        return ()
    values = value if isinstance(value, list) else [value]
    texts = tuple(map(_words, values))
    if not all(texts):
        raise _WrongShape(f"`{key}` is neither a text nor a list of texts")
    return texts


def _name(key: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _WrongShape(f"`{key}` is {_shown(value)}, not a text")
    return value


def _words(value: Any) -> str:
    """Return a text, number or date as a text, else an empty one: YAML aliases can expand without limit."""
    return str(value).strip() if isinstance(value, str | int | float | date) else ""


def _shown(value: Any) -> str:
    return repr(_words(value)[:60]) if _words(value) else f"a {type(value).__name__}"


def _problem(workspace: Workspace, entry: Any) -> str:
    """Describe what is wrong with the answer to one question; return an empty text if it is right."""
    try:
        question = _question(entry)
        text = _answer(workspace, question)
    except (_WrongShape, WorkingsetError) as error:
        return str(error)
    flat = " ".join(text.split())
    missing = [fact for fact in question.facts if " ".join(fact.split()) not in flat]
    if question.where == "absent":
        present = [fact for fact in question.facts if fact not in missing]
        return f"should be absent, but was found: {', '.join(present)}" if present else ""
    return f"not in the {question.where}: {', '.join(missing)}" if missing else ""


def _answer(workspace: Workspace, question: Question) -> str:
    """Return the text of the notes in the answer, without the header and lines that repeat the question."""
    if question.where == "brief":
        return workspace.brief(question.branch).body
    if question.where == "source" and question.relpath:
        return workspace.open(question.relpath, budget=MOST_BUDGET).content.text
    found = workspace.search(question.question, also=question.also, branch=question.branch)
    return "".join(passage.text for passage in found.content.passages)


def _line_of(text: str, entry: Any, number: int) -> int:
    """Return the line of a question in the file, else its number in the list."""
    question = _words(entry.get("question")) if isinstance(entry, dict) else ""
    for line, content in enumerate(text.splitlines(), start=1):
        if question and question[:40] in content:
            return line
    return number
