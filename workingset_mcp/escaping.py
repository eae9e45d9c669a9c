"""Escape names and lines of notes outside a quote: one line, nothing invisible, no forged mark.

Inside a quote block or a fence the text of a note stays as it is. Not here: which answer says what.
"""

import json
import re

MOST_QUOTED_CHARACTERS = 80

# Controls but for tabs and line ends, line and paragraph separators, bidi controls, tag characters.
_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\U000e0000-\U000e007f"
)
_UNSEEN_SIGN = re.compile(f"[{_UNSEEN}]")
_ON_TERMINAL = re.compile(f"[{_UNSEEN}]|\r(?!\n)")
_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029]")  # the others are escaped already
_IN_LINE = re.compile(f"[{_UNSEEN}\r\n]|<(?=!--\\s*/?\\s*quote\\b)", re.IGNORECASE)
# Also what closes a comment or a source mark, and a backslash that would read as one of our escapes.
_IN_NAME = re.compile(f"[{_UNSEEN}\t\r\n]|<(?=!--)|(?<=--)>|(?<=--!)>|\\](?=_)|\\\\(?=u)")
_MARKS = frozenset("<>]\\")  # a printable name without them needs no escaping
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})")


def show_name(name: str) -> str:
    """The name of a file, folder or branch, as every answer prints it; `read_name` takes it back."""
    if name.isprintable() and _MARKS.isdisjoint(name):
        return name
    return _IN_NAME.sub(_escape, name)


def read_name(given: str) -> str:
    """The name that `show_name` printed as this; what it cannot have printed stays as it is."""
    if "\\u" not in given:
        return given
    halves = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), given)
    try:
        meant = halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return given
    return meant if show_name(meant) == given else given


def show_line(text: str) -> str:
    """A line of a note, a title or a heading outside a quote."""
    if text.isprintable() and "<" not in text:  # nearly every line, at a quarter of the cost
        return text
    return _IN_LINE.sub(lambda found: "<\\" if found[0] == "<" else _escape(found), text)


def quote(text: str, most_characters: int = MOST_QUOTED_CHARACTERS) -> str:
    """Quote text of a note inside a message: cut, in quotation marks, on one line."""
    cut = f"{text[: most_characters - 1]}…" if len(text) > most_characters else text
    return write_json(show_line(cut))


def write_json(value: object) -> str:
    """Write JSON on one line, with every kind of line end escaped. A lone surrogate becomes `?`."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    return _IN_JSON.sub(_escape, text)


def show_on_terminal(text: str) -> str:
    """Text that a terminal shows and does not obey."""
    return _ON_TERMINAL.sub(_escape, text)


def holds_unseen(text: str) -> bool:
    """Return whether a text holds invisible characters."""
    return _UNSEEN_SIGN.search(text) is not None


def _escape(found: re.Match[str]) -> str:
    """The sign as JSON writes it."""
    halves = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))
