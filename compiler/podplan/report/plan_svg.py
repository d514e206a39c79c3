"""A picture of a plan: a bar for each quota of a queue, with the total requests of its admitted jobs."""

from __future__ import annotations

from xml.sax.saxutils import escape

from podplan.report import plan_words as words
from podplan.report.sanitization import escape_text
from podplan.tools.graph.svg import PALETTE, SANS_FONTS
from podplan.tools.graph.text_width import fit_text
from podplan.tools.plan.model import Plan, QuotaLine

_WIDTH, _MARGIN, _BAR_X, _BAR_WIDTH = 760, 16, 240, 300
_ROW_HEIGHT, _BAR_HEIGHT, _QUEUE_GAP = 26, 14, 34
_COLORS = (
    (".ground", "fill", "ground"),
    (".ground,.own,.limit", "stroke", "edge"),
    (".t", "fill", "text"),
    (".q", "fill", "quiet"),
    (".own", "fill", "soft"),
    (".borrowed", "fill", "wash"),
    (".fits", "fill", "pods"),
    (".borrows", "fill", "config"),
    (".over", "fill", "secret"),
)
_LEGEND = (("fits", "within the quota"), ("borrows", "borrowed"), ("over", "more than there is"))


def render(plan: Plan) -> str:
    """Render one bar for each flavor and resource, by ClusterQueue."""
    body: list[str] = []
    y = _MARGIN + 16
    verdicts, _, sizes = words.format_totals(plan).partition("; ")
    body.append(_text(_MARGIN, y, verdicts, "t b", _WIDTH - 2 * _MARGIN))
    y += 20
    body.append(_text(_MARGIN, y, sizes, "q", _WIDTH - 2 * _MARGIN))
    queue = ""
    for line in plan.quotas:
        if line.queue != queue:
            queue, y = line.queue, y + _QUEUE_GAP
            kind = "ClusterQueue" if line.flavor else "Queue"
            body.append(_text(_MARGIN, y, f"{kind} {queue}", "t b", _WIDTH - 2 * _MARGIN))
        y += _ROW_HEIGHT
        body += _render_bar(line, y)
    if not plan.quotas:
        y += _QUEUE_GAP
        body.append(_text(_MARGIN, y, "no queue in the repository admits a job", "q", _WIDTH))
    else:
        y += _QUEUE_GAP
        body += _render_legend(y)
    height = y + _MARGIN
    return (
        "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
                f'viewBox="0 0 {_WIDTH} {height}" role="img">',
                f"<title>{escape(escape_text(words.format_totals(plan)))}</title>",
                f"<style>{_build_style()}</style>",
                f'<rect class="ground" x=".5" y=".5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>',
                *body,
                "</svg>",
            ]
        )
        + "\n"
    )


def _render_bar(line: QuotaLine, y: int) -> list[str]:
    """Render a row: flavor and resource, the quota with the borrowing limit, and the requests."""
    scale = _BAR_WIDTH / max(line.maximum, line.used, 1)
    top = y - 11
    own, most = line.nominal * scale, line.maximum * scale
    parts = [
        _text(_MARGIN, y, " · ".join(filter(None, (line.flavor, line.resource))), "q", _BAR_X - _MARGIN - 12),
        _rect("borrowed", _BAR_X, top, most),
        _rect("own", _BAR_X, top, own),
        _rect("fits", _BAR_X, top, min(line.used, line.nominal) * scale),
    ]
    if line.used > line.nominal:
        borrowed = min(line.used, line.maximum) - line.nominal
        name = "borrows" if line.shortage is None else "over"
        parts.append(_rect(name, _BAR_X + own, top, borrowed * scale))
    if line.used > line.maximum:
        parts.append(_rect("over", _BAR_X + most, top, (line.used - line.maximum) * scale))
    right = _BAR_X + _BAR_WIDTH + 12
    parts.append(_text(right, y, words.format_quota(line), "t", _WIDTH - right - _MARGIN))
    return parts


def _render_legend(y: int) -> list[str]:
    parts, x = [], _BAR_X
    for name, meaning in _LEGEND:
        parts += [f'<rect class="{name}" x="{x}" y="{y - 10}" width="10" height="10"/>']
        parts.append(_text(x + 15, y, meaning, "q", 150))
        x += 150
    return parts


def _rect(name: str, x: float, y: float, width: float) -> str:
    return f'<rect class="{name}" x="{x:g}" y="{y:g}" width="{max(width, 0):.4g}" height="{_BAR_HEIGHT}"/>'


def _text(x: float, y: float, text: str, name: str, max_width: float) -> str:
    shown = escape(fit_text(escape_text(text), max_width, 13))
    return f'<text class="{name}" x="{x:g}" y="{y:g}">{shown}</text>'


def _build_style() -> str:
    def dress(which: int) -> str:
        return "".join(f"{where}{{{what}:{PALETTE[name][which]}}}" for where, what, name in _COLORS)

    base = f"text{{font-family:{SANS_FONTS};font-size:12px}}.b{{font-weight:600}}"
    return f"{base}\n{dress(0)}\n@media (prefers-color-scheme:dark){{{dress(1)}}}"
