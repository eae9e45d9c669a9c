"""A line of a note: its mark, its box, its comments; two lines that say the same. Pure.

Not here: what kind of thing a line says (`items`, `standing`, `statuses`).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from workingset_mcp.notes.words import by_first_letter

LABEL_KINDS = ("decision", "owner", "due", "blocker", "action", "fact")
STANDING_KINDS = ("rhythm", "contact", "rule", "lead")
OPEN_STATES = (" ", "/", "!", "?")
DONE_STATES = ("x", "X")
CANCELLED_STATES = ("-", ">", "<")

LIST_MARK = r"(?:[-*+]|\d{1,9}[.)])"
LETTERS = re.compile(r"\w{2}")
TASK_BOX = r"\[[ xX/\-><!?]\][ \t]+"
_LINE_MARK = re.compile(rf"[ \t>]*(?:{LIST_MARK}[ \t]+)?(?:{TASK_BOX})?")
_LINE_MARKS = re.compile(
    rf"\n(?:[ \t>]+(?:{LIST_MARK}[ \t]+)?(?:{TASK_BOX})?|{LIST_MARK}[ \t]+(?:{TASK_BOX})?|{TASK_BOX})"
)
_LINK_TARGET_END = re.compile(r"[)\n]")
_COMMENT = re.compile(r"<!--.*?(?:-->|$)|%%.*?(?:%%|$)")
_ASCII_BLANKS = "*_`\t\v\f\x1c\x1d\x1e\x1f"  # with the signs of emphasis
_WIDER_BLANKS = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_BLOCK_ID = re.compile(r"(?<=[ \t])\^[A-Za-z0-9-]{1,64}$")  # a mark of the editor, not of the text


class Item(NamedTuple):
    """One line that says something of a known kind."""

    line: int
    kind: str  # task, one of LABEL_KINDS, or one of STANDING_KINDS
    text: str
    form: str = ""  # label, bullet, heading: where its kind comes from
    state: str = ""  # of a task: the character in its box
    owners: tuple[str, ...] = ()
    due: str = ""  # ISO day
    date: str = ""  # of the nearest dated heading above


def bare_line(line: str) -> str:
    """A line without its quote marks, list mark and box."""
    return line[_LINE_MARK.match(line).end() :].strip()  # type: ignore[union-attr]  # always matches


def folded(text: str) -> str:
    """Text with case, blanks and emphasis folded: two lines that say the same fold alike."""
    return _evenly(text.replace("\n", " ").replace("\r", " ")).strip(" ")


def all_folded(texts: Iterable[str]) -> list[str]:
    """Texts as each is `folded`, in the same order; many at once are fast."""
    lines = [text.replace("\n", " ").replace("\r", " ") for text in texts]
    return [line.strip(" ") for line in _evenly("\n".join(lines)).split("\n")] if lines else []


def folded_lines(lines: Iterable[str]) -> list[bytes]:
    """Lines as they fold without their marks, in the same order, in UTF-8: many at once are fast."""
    bare = _LINE_MARKS.sub("\n", "\n".join(["", *lines]))[1:]
    made = _with_plain_blanks(bare).encode("utf-8", "replace").split(b"\n")
    return [b" ".join(line.split()) if b"  " in line else line.strip() for line in made]


def _evenly(text: str) -> str:
    """Text in lower case whose blanks and emphasis are one blank each, its line ends left alone."""
    text = _with_plain_blanks(text)
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _with_plain_blanks(text: str) -> str:
    """Text in lower case where blanks of all kinds, and emphasis, are blanks; line ends are left alone."""
    for sign in _ASCII_BLANKS if text.isascii() else _ASCII_BLANKS + _WIDER_BLANKS:
        text = text.replace(sign, " ")
    return text.casefold()


def without_link_targets(text: str) -> str:
    """Text whose links keep their words and lose their addresses."""
    if "](" not in text:
        return text
    parts: list[str] = []
    done = at = 0
    while (at := text.find("](", at)) >= 0:
        end = _LINK_TARGET_END.search(text, at + 2)
        if not end:
            break
        if end[0] == ")":
            parts.append(text[done : at + 1])
            done = at = end.end()
        else:
            at = end.end()  # no address goes over a line end
    return "".join([*parts, text[done:]])


def without_comment(text: str) -> str:
    """The text of a line without comments and the editor's block id, trimmed."""
    if "<!--" in text or "%%" in text:
        text = _COMMENT.sub("", text)
    text = text.strip()
    return _BLOCK_ID.sub("", text).rstrip() if "^" in text else text


def any_of(words: Iterable[str]) -> str:
    """A pattern, for any case, of any of these words, the longest first; of none, one that never fits.

    Words with one first letter are tried behind it only: an engine tries all alternatives in turn.
    """
    parted = []
    for word in sorted(set(words), key=lambda word: (-len(word), word)):
        first = word[:1].lower() if word[:1].isascii() else word[:1]
        parted.append((re.escape(first), re.escape(word[1:]).replace(r"\ ", r"[ \t]+")))
    if not parted:
        return "(?!)"
    groups = by_first_letter(parted)
    hint = "" if "" in groups else f"(?=[{''.join(groups)}])"
    return f"{hint}(?:{'|'.join(groups.values())})"


def plain(word: str) -> str:
    """A word as labels are compared: case and blanks folded."""
    return " ".join(word.casefold().split())
