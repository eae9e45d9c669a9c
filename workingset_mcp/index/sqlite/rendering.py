"""Render expressions and scopes as FTS5 and SQL, and group branches into rowid ranges. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from workingset_mcp.index.query import And, Column, Expr, Or, Prefix, Scope, Term
from workingset_mcp.index.sqlite.columns import marks

MOST_RANGES = 4
LEAST_GAP = 1_000  # sections; skipping fewer of them costs less than one more query
SECTION_DATE = "CASE WHEN s.date != '' THEN s.date ELSE n.date END"
NOTE_DATE = "n.date"


def rendered(expr: Expr) -> str:
    """Render an expression in FTS5 syntax; every word is quoted."""
    if isinstance(expr, And):
        return f"({' AND '.join(map(rendered, expr.parts))})"
    if isinstance(expr, Or):
        return f"({' OR '.join(map(rendered, expr.parts))})"
    if isinstance(expr, Term):
        return _in_column(expr.column, _quoted(expr.word))
    if isinstance(expr, Prefix):
        return _in_column(expr.column, f"{_quoted(expr.word)} *")
    return _in_column(expr.column, _quoted(" ".join(expr.words)))


def conditions(scope: Scope, date: str) -> tuple[str, tuple[str, ...]]:
    """Render a scope as conditions on note `n` and the SQL expression `date`, with parameters.

    The window means the same as in `Scope.may_hold`: two dates are compared to the precision of both.
    """
    parts, parameters = list[str](), list[str]()
    if scope.branches is not None:
        parts.append(f"AND n.branch IN ({marks(tuple(scope.branches))})")
        parameters.extend(sorted(scope.branches))
    if scope.undated:
        return " ".join([*parts, f"AND {date} = ''"]), tuple(parameters)
    if scope.since:
        parts.append(f"AND {date} != '' AND {date} >= substr(?, 1, length({date}))")
        parameters.append(scope.since)
    if scope.until:
        parts.append(f"AND {date} != '' AND substr({date}, 1, length(?)) <= ?")
        parameters.extend((scope.until, scope.until))
    return " ".join(parts), tuple(parameters)


def ranges_of(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge sorted spans into at most `MOST_RANGES` ranges, split at the widest gaps.

    A build writes the notes of a branch one after another; changed notes are written at the end.
    """
    gaps = [(after[0] - before[1], at) for at, (before, after) in enumerate(pairwise(spans), 1)]
    wide = sorted(gap for gap in gaps if gap[0] > LEAST_GAP)[1 - MOST_RANGES :]
    borders = [0, *sorted(at for _, at in wide), len(spans)]
    return [(spans[first][0], spans[last - 1][1]) for first, last in pairwise(borders) if spans]


def _in_column(column: Column, term: str) -> str:
    if column == "written":
        return f"{{body title heads path}} : {term}"
    return f"{column} : {term}" if column else term


def _quoted(words: str) -> str:
    plain = words.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return f'"{plain.replace(chr(34), chr(34) * 2)}"'
