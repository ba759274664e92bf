"""Scatter charts for notebooks, as SVG in the colours of the surrounding text."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

_WIDTH, _HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 16, 46
#: Two hues of the palette of the program's pictures (Okabe and Ito), readable on dark and on light.
_LINE, _BEST = "#009e73", "#e69f00"


def chart(
    points: Sequence[tuple[float, float, str]],
    line: Sequence[tuple[float, float]],
    star: tuple[float, float] | None,
    across: str,
    up: str,
) -> str:
    """Draws labelled points, a line through some of them, and a star on the best."""
    places = [(x, y) for x, y, _ in points] + list(line)
    if not places:
        return ""
    xs, ys = _Axis([x for x, _ in places]), _Axis([y for _, y in places])

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + xs.share(x) * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - ys.share(y) * (_HEIGHT - _TOP - _BOTTOM),
        )

    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" '
        'style="max-width: 100%; font: 12px sans-serif" fill="currentColor" '
        'xmlns="http://www.w3.org/2000/svg">'
    ]
    for tick in xs.ticks():
        x, y = at(tick, ys.low)
        parts.append(f'<path d="M{x:.1f} {_TOP}V{y:.1f}" stroke="currentColor" opacity=".15"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{tick:g}</text>')
    for tick in ys.ticks():
        x, y = at(xs.low, tick)
        end = _WIDTH - _RIGHT
        parts.append(f'<path d="M{x:.1f} {y:.1f}H{end}" stroke="currentColor" opacity=".15"/>')
        parts.append(
            f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{_short(tick)}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{html.escape(across)}</text>'
        f'<text transform="translate(14 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)" '
        f'text-anchor="middle">{html.escape(up)}</text>'
    )
    for x, y, label in points:
        px, py = at(x, y)
        parts.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" opacity=".35">'
            f"<title>{html.escape(label)}</title></circle>"
        )
    if line:
        corners = " ".join(f"{px:.1f},{py:.1f}" for px, py in (at(x, y) for x, y in line))
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{_LINE}" stroke-width="2"/>')
        for px, py in (at(x, y) for x, y in line):
            parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{_LINE}"/>')
    if star is not None:
        px, py = at(*star)
        parts.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="7" fill="none" stroke="{_BEST}" '
            'stroke-width="3"><title>the best</title></circle>'
        )
    return "".join(parts) + "</svg>"


class _Axis:
    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
        self.low, self.high = max(0.0, low - room) if low >= 0 else low - room, high + room

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        raw = (self.high - self.low) / 5
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
        first = math.ceil(self.low / step)
        return [round(n * step, 12) for n in range(first, math.floor(self.high / step) + 1)]


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"
