"""The YAML block at the top of a note: read whatever is readable, remark the rest; write one.

Only a few fields matter here (title, aliases, tags, dates, kind); they come back as plain text. PyYAML
reads and writes. A block that it refuses still gives its simple `key: value` lines. Not here: where
the block ends (`markdown`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workingset_mcp.notes.dates import iso_day

MOST_BLOCK_CHARACTERS = 65_536
MOST_ALIASES = 20
DATE_FIELDS = (  # the first that is one counts
    "date", "updated", "updated_at", "last_updated", "lastmod", "modified", "published", "created",
    "created_at",
)  # fmt: skip

_REPLACED_BY = (
    "superseded_by", "superseded-by", "supersededby", "replaced_by", "replaced-by", "replacedby",
)  # fmt: skip
_ALIAS = re.compile(r"(?:^|[\s,\[:{])\*[\w-]+")
_SIMPLE_LINE = re.compile(r"^([A-Za-z_][\w-]{0,40}):[ \t]+(\S.*)$")
_TOP_KEY = re.compile(r"^([A-Za-z_][\w-]*):(?:\s|$)", re.MULTILINE)
_DEPTH = re.compile(r"[\[{]{40}|^ {200}", re.MULTILINE)
# PyYAML raises these besides its own errors, on values like `!!int ''` or `!!timestamp soon`.
_REFUSALS = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip
_MOST_DIGITS = 10**18


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the block says, as text; `remarks` say what could not be read."""

    title: str = ""
    kind: str = ""
    status: str = ""
    replaced_by: str = ""
    dates: tuple[str, ...] = ()  # ISO, in the order of DATE_FIELDS
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    is_private: bool = False  # `private: true`
    names: frozenset[str] = frozenset()  # of all its fields, in lower case
    remarks: tuple[str, ...] = field(default=())


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Read the lines of a block, its two fences included."""
    block = "\n".join(lines[1:-1])
    if not block.strip():
        return FrontMatter()
    remarks: list[str] = []
    loaded = _load(block, remarks)
    repeated = _repeated_keys(block)
    if repeated:
        remarks.append(f"front matter has {', '.join(repeated)} twice; the last one counts")
    found = {str(key).strip().lower(): value for key, value in loaded.items()}
    dates = []
    for name in DATE_FIELDS:
        value = found.get(name)
        if value in (None, ""):
            continue
        day = iso_day(value) if not _is_huge(value) else None
        if day:
            dates.append(day)
        elif name == "date":
            shown = "of many digits" if _is_huge(value) else repr(str(value)[:40])
            remarks.append(f"front matter date {shown} is no date")
    return FrontMatter(
        title=_text(found.get("title")),
        kind=_text(found.get("kind")),
        status="" if "status" in repeated else _text(found.get("status")),  # it contradicts itself
        replaced_by=next((_text(found[name]) for name in _REPLACED_BY if found.get(name)), ""),
        dates=tuple(dates),
        aliases=_texts(found.get("aliases", found.get("alias"))),
        tags=tuple(tag.lstrip("#") for tag in _texts(found.get("tags", found.get("tag")))),
        names=frozenset(found),
        is_private=_text(found.get("private")).casefold() in ("true", "yes"),
        remarks=tuple(remarks),
    )


def written_block(fields: Mapping[str, str | int]) -> str:
    """The lines of a block that holds these fields, in their order."""
    import yaml  # as in `_load`

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # where PyYAML was built with libyaml
    dumped: str = yaml.dump(
        dict(fields), Dumper=dumper, sort_keys=False, allow_unicode=True, width=10_000
    )
    return dumped


def _load(block: str, remarks: list[str]) -> Mapping[Any, Any]:
    if len(block) > MOST_BLOCK_CHARACTERS:
        remarks.append(f"front matter over {MOST_BLOCK_CHARACTERS // 1024} KB, not read")
        return {}
    if "&" in block and len(_ALIAS.findall(block)) > MOST_ALIASES:
        remarks.append("front matter repeats itself by aliases, not read")
        return {}
    if _DEPTH.search(block):
        remarks.append("front matter is nested too deeply, not read")
        return {}
    import yaml  # 14 ms that a hook does without when no note changed
    from frontmatter.default_handlers import YAMLHandler

    try:
        loaded = YAMLHandler().load(block)
    except (yaml.YAMLError, *_REFUSALS) as error:
        remarks.append(f"front matter is no valid YAML: {_first_words(error)}")
        return _simple_lines(block)
    if isinstance(loaded, Mapping):
        return loaded
    if loaded is not None:
        remarks.append("front matter is no list of fields")
    return {}


def _first_words(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark = getattr(error, "problem_mark", None)
    where = f" in line {mark.line + 2}" if mark is not None else ""
    return f"{str(problem)[:80]}{where}"


def _simple_lines(block: str) -> dict[str, str]:
    """The `key: value` lines of a block that YAML refuses."""
    found = {}
    for line in block.split("\n"):
        matched = _SIMPLE_LINE.match(line)
        if matched:
            found[matched[1].lower()] = matched[2].strip().strip("'\"")
    return found


def _repeated_keys(block: str) -> list[str]:
    keys = [key.lower() for key in _TOP_KEY.findall(block)] if len(block) < 10_000 else []
    if len(keys) == len(set(keys)):
        return []
    return sorted({key for key in keys if keys.count(key) > 1})


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > _MOST_DIGITS


def _text(value: Any) -> str:
    if not isinstance(value, (str, int, float)) or _is_huge(value):
        return ""
    return " ".join(str(value).split())[:300]


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        parts = re.split(r"[,\n]", value) if "," in value else [value]
        return tuple(part.strip() for part in parts if part.strip())[:50]
    if isinstance(value, (list, tuple)):
        return tuple(filter(None, (_text(part) for part in value[:50])))
    return ()
