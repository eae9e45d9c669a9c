"""Measure what briefs save: source tokens against brief tokens by branch, as table, JSON or HTML page.

Not here: making briefs (`workspace`).
"""

import html
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from workingset_mcp.workspace.facade import Workspace

WORTH_IT_FROM = 2.0


@dataclass(frozen=True, slots=True)
class Measured:
    """The tokens of the notes and of the brief of one branch, or of all branches."""

    branch: str
    notes: int
    source_tokens: int
    brief_tokens: int

    @property
    def reduction(self) -> float:
        """The factor by which the brief is smaller than its notes."""
        return self.source_tokens / max(1, self.brief_tokens)

    def billed_reduction(self, overhead_tokens: int) -> float:
        """Return the reduction of the whole bill of a session that costs `overhead_tokens` anyway."""
        return (self.source_tokens + overhead_tokens) / (self.brief_tokens + overhead_tokens)


def measure(
    workspace: Workspace, branches: Sequence[str], budget: int | None = None
) -> list[Measured]:
    """Make the brief of each branch and count tokens."""
    found = []
    for branch in branches:
        numbers = workspace.brief_numbers(branch, budget)
        found.append(Measured(branch, *numbers))
    return found


def total_of(rows: Sequence[Measured]) -> Measured:
    """Sum up all branches in one row."""
    return Measured(
        "all",
        sum(row.notes for row in rows),
        sum(row.source_tokens for row in rows),
        sum(row.brief_tokens for row in rows),
    )


def as_table(rows: Sequence[Measured], overhead_tokens: int = 0) -> str:
    """Print a markdown table with the total last, and name branches that are not worth a brief."""
    billed = " billed |" if overhead_tokens else ""
    lines = [
        f"| branch | notes | source tokens | brief tokens | reduction |{billed}",
        f"|---|---:|---:|---:|---:|{'---:|' if overhead_tokens else ''}",
    ]
    for row in [*rows, total_of(rows)] if len(rows) > 1 else rows:
        bill = f" {row.billed_reduction(overhead_tokens):.1f}× |" if overhead_tokens else ""
        lines.append(
            f"| {row.branch} | {row.notes:,} | {row.source_tokens:,} | {row.brief_tokens:,}"
            f" | {row.reduction:.1f}× |{bill}"
        )
    small = [row.branch for row in rows if row.reduction < WORTH_IT_FROM]
    if small:
        lines.append(f"\nUnder {WORTH_IT_FROM:g}×, probably not worth a brief: {', '.join(small)}")
    return "\n".join(lines) + "\n"


def as_data(rows: Sequence[Measured], overhead_tokens: int = 0) -> dict[str, object]:
    """Return the rows as plain values."""

    def one(row: Measured) -> dict[str, object]:
        data: dict[str, object] = {**asdict(row), "reduction": round(row.reduction, 2)}
        if overhead_tokens:
            data["billed_reduction"] = round(row.billed_reduction(overhead_tokens), 2)
        return data

    return {"branches": [one(row) for row in rows], "all": one(total_of(rows))}


def as_page(rows: Sequence[Measured], vault: str, overhead_tokens: int = 0) -> str:
    """Render one self-contained HTML page: a table, and a dot plot with one dot for each branch."""
    total = total_of(rows)
    data = json.dumps(as_data(rows, overhead_tokens)).replace("<", "\\u003c")
    body = "".join(
        f"<tr><td>{html.escape(row.branch)}</td><td>{row.notes:,}</td><td>{row.source_tokens:,}</td>"
        f"<td>{row.brief_tokens:,}</td><td>{row.reduction:.1f}×</td></tr>"
        for row in sorted(rows, key=lambda row: -row.reduction)
    )
    return _PAGE.format(
        vault=html.escape(vault),
        source=f"{total.source_tokens:,}",
        brief=f"{total.brief_tokens:,}",
        reduction=f"{total.reduction:.1f}",
        plot=_plot(rows),
        rows=body,
        data=data,
    )


_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM = 860, 420, 64, 40, 48  # room for half a label each side


def _plot(rows: Sequence[Measured]) -> str:
    """Draw the dot plot as SVG: x is source tokens (log), y is the reduction."""
    rows = [row for row in rows if row.source_tokens]
    if not rows:
        return ""
    first = math.floor(math.log10(min(row.source_tokens for row in rows)))
    last = max(first + 1, math.ceil(math.log10(max(row.source_tokens for row in rows))))
    top = max(4.0, 1.1 * max(row.reduction for row in rows))

    def across(tokens: float) -> float:
        return _LEFT + (math.log10(tokens) - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    def up(reduction: float) -> float:
        return _HEIGHT - _BOTTOM - reduction / top * (_HEIGHT - _BOTTOM - 20)

    parts = []
    for power in range(first, last + 1):
        x = across(10.0**power)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" y1="20" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}"/>'
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
            f"{10**power:,}</text>"
        )
    step = _round_step(top / 5)
    for number in range(int(top / step) + 1):
        y = up(number * step)
        parts.append(
            f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number * step:g}×</text>'
        )
    for row in rows:
        name = html.escape(row.branch)
        parts.append(
            f'<circle class="dot" data-branch="{name}" cx="{across(row.source_tokens):.1f}"'
            f' cy="{up(row.reduction):.1f}" r="5"><title>{name}: {row.source_tokens:,} → '
            f"{row.brief_tokens:,} tokens, {row.reduction:.1f}×</title></circle>"
        )
    label = (
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">source tokens (log)</text>'
        f'<text x="{_LEFT - 8}" y="12" text-anchor="end">reduction</text>'
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="reduction by branch">'
        f"{''.join(parts)}{label}</svg>"
    )


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What briefs save: {vault}</title>
<style>
:root {{ color-scheme: light dark; --ink: light-dark(#1d2733, #e6eaf0);
  --faint: light-dark(#d9dee5, #38424f); --dot: light-dark(#0b6bcb, #6ab0ff); }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 900px;
  margin: 2rem auto; padding: 0 1rem; }}
svg {{ width: 100%; height: auto; }} svg text {{ font-size: 12px; fill: var(--ink); }}
.grid {{ stroke: var(--faint); }}
.dot {{ fill: var(--dot); fill-opacity: .75; }} .dot:hover {{ fill-opacity: 1; r: 8; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: right; padding: .25rem .5rem; border-bottom: 1px solid var(--faint); }}
th:first-child, td:first-child {{ text-align: left; }} b {{ font-size: 1.4em; }}
</style></head><body>
<h1>What briefs save: {vault}</h1>
<p>{source} tokens of notes become {brief} tokens of briefs: <b>{reduction}×</b> smaller.</p>
{plot}
<table><thead><tr><th>branch</th><th>notes</th><th>source tokens</th>
<th>brief tokens</th><th>reduction</th></tr></thead>
<tbody>{rows}</tbody></table>
<script type="application/json" id="data">{data}</script>
</body></html>
"""
