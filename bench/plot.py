"""The growth of five figures from the smallest vault to the largest, as an SVG with log-log axes.

Each line starts at 1 and shows the growth factor. The label at its end gives the slope: the best-fitting
exponent, where 1 means in proportion to the vault. Not here: the figures.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from statistics import median
from typing import Any

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 220, 64, 54
LEAST_APART = 17

Points = Sequence[tuple[float, float]]

COLOURS = {
    "index": "#b3261e", "refresh": "#1f6feb", "search": "#2a7d2e", "brief": "#8a4fbf",
    "memory": "#a15c00",
}  # fmt: skip
_CURVES: dict[str, Callable[[Any], float]] = {
    "index": lambda made: median(made["index"]["ours"]),
    "refresh": lambda made: median(made["refresh"]["ours"]),
    "search": lambda made: median(made["search"]["handshake"]["search"]["ours"]["p50"]),
    "brief": lambda made: median(made["search"]["handshake"]["brief"]["ours"]["p50"]),
    "memory": lambda made: median(made["memory"]["ours"]),
}


def curves(figures: Mapping[str, Any]) -> dict[str, Points]:
    """For each figure, its measured sizes (notes) and medians, smallest size first."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in _CURVES}
    for notes in sorted(figures["sizes"], key=int):
        for name, figure in _CURVES.items():
            try:
                found[name].append((float(notes), figure(figures["sizes"][notes])))
            except KeyError:
                continue  # not measured at this size
    return {name: points for name, points in found.items() if points}


def slope(points: Points) -> float:
    """The exponent of growth by least squares over logarithms; nan for one point."""
    xs, ys = ([math.log(point[at]) for point in points] for at in (0, 1))
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((one - x) ** 2 for one in xs)
    if not spread:
        return math.nan
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread


def growth(figures: Mapping[str, Any]) -> str:
    """Render the plot."""
    drawn = {name: points for name, points in curves(figures).items() if len(points) > 1}
    sizes = sorted({notes for points in drawn.values() for notes, _ in points}) or [1.0, 10.0]
    most = max([value / points[0][1] for points in drawn.values() for _, value in points] or [10.0])
    most = max(most, sizes[-1] / sizes[0])
    x = _scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT)
    y = _scale(1.0, most * 1.15, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="13" role="img">',
        "<title>Growth from the smallest vault to the largest</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">Growth factor since {sizes[0]:,.0f} notes</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">notes</text>',
    ]
    for notes in sizes:
        parts += _grid(x(notes), TOP, x(notes), HEIGHT - BOTTOM)
        parts.append(_text(x(notes), HEIGHT - BOTTOM + 20, f"{notes:,.0f}", "middle"))
    for power in range(int(math.log10(most * 1.15)) + 1):
        parts += _grid(LEFT, y(10**power), WIDTH - RIGHT, y(10**power))
        parts.append(_text(LEFT - 8, y(10**power) + 4, f"×{10**power}", "end"))
    ends = sorted((y(points[-1][1] / points[0][1]), name) for name, points in drawn.items())
    label_at = -math.inf
    for end, name in ends:
        points, colour = drawn[name], COLOURS[name]
        line = " ".join(f"{x(notes):.1f},{y(value / points[0][1]):.1f}" for notes, value in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x(notes):.1f}" cy="{y(value / points[0][1]):.1f}" r="3.5" fill="{colour}"/>'
            for notes, value in points
        ]
        label_at = max(end + 4, label_at + LEAST_APART)
        told = f"{name}, slope {slope(points):.2f}"
        parts.append(_text(WIDTH - RIGHT + 10, label_at, told, "start", colour))
    even = f"{x(sizes[0]):.1f},{y(1):.1f} {x(sizes[-1]):.1f},{y(sizes[-1] / sizes[0]):.1f}"
    parts.append(f'<polyline points="{even}" fill="none" stroke="#777777" stroke-dasharray="4 4"/>')
    parts.append(
        _text(LEFT, 42, "dashed: growth in proportion to the vault, slope 1", "start", "#555555")
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _scale(least: float, most: float, start: float, end: float) -> Callable[[float], float]:
    width = math.log(most) - math.log(least) or 1.0
    return lambda value: start + (math.log(value) - math.log(least)) / width * (end - start)


def _grid(x1: float, y1: float, x2: float, y2: float) -> list[str]:
    return [f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>']


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#222222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
