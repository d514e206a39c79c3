"""Renders graphs as one SVG, without scripts and fonts, with a light and a dark palette.

The panel has a background, so that it is readable on any page; a viewer that prefers dark gets the dark
palette.
"""

from __future__ import annotations

from collections.abc import Sequence

from podplan.tools.graph import layout
from podplan.tools.graph.boxes import STACK_OFFSET, Box, PlacedCard, PlacedSideBox
from podplan.tools.graph.layout import GraphLayout, lay_out_graph, select_columns
from podplan.tools.graph.model import Graph, describe_graph
from podplan.tools.graph.routing import Arrow, Curve
from podplan.tools.graph.text_width import fit_text, measure_text

SANS_FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',Helvetica,Arial,sans-serif"
_MONO_FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono','DejaVu Sans Mono',monospace"
_GRAPH_GAP = 16  # between graphs
_LEGEND_HEIGHT = 26

# Colours by purpose: light, dark.
PALETTE = {
    "ground": ("#ffffff", "#0d1117"),
    "edge": ("#d1d9e0", "#3d444d"),
    "text": ("#1f2328", "#f0f6fc"),
    "quiet": ("#59636e", "#9198a1"),
    "soft": ("#f6f8fa", "#151b23"),
    "pods": ("#0969da", "#4493f8"),
    "wash": ("#eef6ff", "#121d2f"),
    "call": ("#bf3989", "#db61a2"),
    "serve": ("#8250df", "#ab7df8"),
    "config": ("#9a6700", "#d29922"),
    "secret": ("#bc4c00", "#db6d28"),
    "volume": ("#1a7f37", "#3fb950"),
}
_COLOR_RULES = (
    (".ground", "fill", "ground"),
    (".ground,.side,.rule", "stroke", "edge"),
    (".t,.row-name", "fill", "text"),
    (".q", "fill", "quiet"),
    (".side", "fill", "soft"),
    (".card,.back", "fill", "ground"),
    (".card,.back", "stroke", "pods"),
    (".head,.row", "fill", "wash"),
    (".row", "stroke", "edge"),
    (".chip", "fill", "pods"),
    (".chip-text", "fill", "ground"),
    (".gang", "stroke", "quiet"),
    (".call", "stroke", "call"),
    (".tip,.label", "fill", "call"),
    (".label", "stroke", "ground"),
    *((f".k-{name}", "fill", name) for name in ("serve", "config", "secret", "volume")),
    *((f".l-{name}", "stroke", name) for name in ("serve", "config", "secret", "volume", "quiet")),
)
_BASE_STYLE = f"""text{{font-family:{SANS_FONTS};font-size:12px}}
.m,.label{{font-family:{_MONO_FONTS};font-size:11px}}
.name{{font-size:18px;font-weight:600}}.totals{{font-size:15px;font-weight:600}}
.b{{font-weight:600}}.title{{font-size:14px;font-weight:600}}.small{{font-size:11px}}
.kind{{font-size:10.5px;font-weight:600}}.chip-text{{font-size:11.5px;font-weight:600}}
.card{{stroke-width:1.5}}.back{{stroke-width:1;stroke-opacity:.6}}
.gang{{fill:none;stroke-width:1.25;stroke-dasharray:5 4}}
.link{{fill:none;stroke-width:1.25;stroke-opacity:.75}}.call{{fill:none;stroke-width:1.75}}
.label{{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}}"""
_KINDS = {"ConfigMap": "config", "Secret": "secret"}


def render_svg(pictures: Sequence[Graph]) -> str:
    """Render the graphs below one another, as the text of an SVG file."""
    column_layout = select_columns(pictures)
    layouts = [lay_out_graph(picture, column_layout) for picture in pictures]
    total_width = max(plate.width for plate in layouts)
    legends = [_list_legend(plate) for plate in layouts]
    body: list[str] = []
    y = 0
    for plate, legend in zip(layouts, legends, strict=True):
        total_height = plate.height + (_LEGEND_HEIGHT if legend else 0)
        move = f' transform="translate(0 {y})"' if y else ""
        body += [f"<g{move}>", *_render_layout(plate, total_width, total_height, legend), "</g>"]
        y += total_height + _GRAPH_GAP
    total_height = y - _GRAPH_GAP
    title = "; ".join(f"{one.name}: {one.kind}, {one.totals}" for one in pictures)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_width}" height="{total_height}" '
        f'viewBox="0 0 {total_width} {total_height}" '
        'role="img" aria-labelledby="podplan-title podplan-desc">',
        f'<title id="podplan-title">{escape_xml(title)}</title>',
        f'<desc id="podplan-desc">{escape_xml(" ".join(describe_graph(one) for one in pictures))}</desc>',
        f"<style>\n{_render_style()}\n</style>",
        *body,
        "</svg>\n",
    ])  # fmt: skip


def escape_xml(text: str) -> str:
    """Escape text for XML; invalid and bidirectional characters become U+FFFD."""
    safe = "".join(char if _is_allowed(char) else "\ufffd" for char in text)
    return safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _is_allowed(char: str) -> bool:
    code = ord(char)
    if code < 0xA0:
        return 0x20 <= code < 0x7F
    turns = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F, 0x061C)
    return not (turns or 0xD800 <= code <= 0xDFFF or code & 0xFFFE == 0xFFFE or 0x2028 <= code <= 0x2029)


def _render_style() -> str:
    def dress(which: int) -> str:
        return "".join(f"{where}{{{what}:{PALETTE[name][which]}}}" for where, what, name in _COLOR_RULES)

    return f"{_BASE_STYLE}\n{dress(0)}\n@media (prefers-color-scheme:dark){{{dress(1)}}}"


def _render_layout(
    graph_layout: GraphLayout, wide: int, high: int, legend: Sequence[tuple[str, str]]
) -> list[str]:
    return [
        f'<rect class="ground" x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="10"/>',
        *_render_header(graph_layout.graph, wide),
        *(_render_gang(graph_layout.gang, graph_layout.graph) if graph_layout.gang is not None else []),
        *(_render_note(graph_layout.note, graph_layout.graph.note) if graph_layout.note is not None else []),
        *(_render_curve(curve) for curve in graph_layout.curves),
        *(line for at in graph_layout.sides for line in _render_side(at)),
        *(line for at in graph_layout.cards for line in _render_card(at)),
        *(line for arrow in graph_layout.arrows for line in _render_arrow(arrow)),
        *_render_legend(legend, high - 16),
    ]


def _render_header(graph: Graph, wide: int) -> list[str]:
    x, text_room = layout.MARGIN, wide - 2 * layout.MARGIN
    totals = fit_text(graph.totals, text_room // 2, 15)
    name = fit_text(graph.name, text_room - measure_text(totals, 15) * 1.05 - 20, 18)
    under = " · ".join((graph.kind, *graph.tags))
    return [
        _render_text(x, 36, name, "t name", graph.name),
        _render_text(wide - x, 36, totals, "t totals", graph.totals, "end"),
        _render_text(x, 57, fit_text(under, text_room, 12), "q", under),
        f'<path class="rule" d="M{x} 69.5H{wide - x}"/>',
    ]


def _render_gang(box: Box, graph: Graph) -> list[str]:
    assert graph.gang is not None
    text_room = box.width - 2 * layout.GANG_PAD
    return [
        _render_rect(box, "gang", 12),
        _render_text(
            box.x + 14,
            box.y + 19,
            fit_text(f"PodGroup {graph.gang.name}", text_room, 12),
            "t b",
            graph.gang.name,
        ),
        _render_text(
            box.x + 14, box.y + 35, fit_text(graph.gang.line, text_room, 11), "q small", graph.gang.line
        ),
    ]


def _render_note(box: Box, note: str) -> list[str]:
    first, _, rest = note.partition(" (")
    middle, text_room = box.x + box.width // 2, box.width - 20
    lines = [
        _render_text(
            middle, box.y + (27 if rest else 34), fit_text(first, text_room, 12), "t b", anchor="middle"
        )
    ]
    if rest:
        lines.append(
            _render_text(
                middle, box.y + 44, fit_text(rest.rstrip(")"), text_room, 11), "q small", anchor="middle"
            )
        )
    return [_render_rect(box, "gang", 10), *lines]


def _render_card(placed_card: PlacedCard) -> list[str]:
    card, box = placed_card.card, placed_card.box
    fields = [f"{label} {value}" for label, value in card.fields]
    lines = [
        "<g>",
        _render_tooltip(
            f"{card.title} {card.name}", *fields, *(f"{row.name} {row.runs}" for row in card.rows)
        ),
    ]
    if card.has_many:
        lines += [
            _render_rect(box._replace(x=box.x + n, y=box.y + n), "back", 9)
            for n in (STACK_OFFSET, STACK_OFFSET // 2)
        ]
    lines.append(_render_rect(box, "card", 9))
    head = f"M{box.x + 1} {box.y + 42}v-33a8 8 0 0 1 8-8h{box.width - 18}a8 8 0 0 1 8 8v33z"
    lines.append(f'<path class="head" d="{head}"/>')
    text_room = float(box.width - 2 * layout.CARD_PAD)
    count = fit_text(card.chip, text_room // 2, 11.5)
    chip = round(measure_text(count, 11.5) * 1.08) + 16 if count else 0
    lines += [
        _render_text(box.x + 12, box.y + 19, fit_text(card.title, text_room - chip - 8, 14), "t title"),
        _render_text(box.x + 12, box.y + 35, fit_text(card.name, text_room, 11, True), "q m"),
    ]
    if card.chip:
        lines.append(_render_rect(Box(box.right - chip - 8, box.y + 7, chip, 19), "chip", 9))
        lines.append(_render_text(box.right - chip // 2 - 8, box.y + 21, count, "chip-text", anchor="middle"))
    y = box.y + layout.CARD_HEAD_HEIGHT + 10
    for label, values in placed_card.fields:
        lines.append(_render_text(box.x + 12, y, label, "q small"))
        for value in values:
            lines.append(_render_text(box.x + 12 + layout.LABEL_WIDTH, y, value, "t"))
            y += layout.LINE_HEIGHT
    for row, row_box in zip(card.rows, placed_card.rows, strict=True):
        half = row_box.width * 6 // 10
        name = fit_text(row.name, half - 16, 11, True)
        runs = fit_text(row.runs, row_box.width - 24 - measure_text(name, 11, True) - 8, 11)
        lines += [
            _render_rect(row_box, "row", 5),
            _render_text(row_box.x + 8, row_box.y + 17, name, "row-name m"),
            _render_text(row_box.right - 8, row_box.y + 17, runs, "q small", anchor="end"),
        ]
    return [*lines, "</g>"]


def _render_side(placed_side: PlacedSideBox) -> list[str]:
    side, box = placed_side.side, placed_side.box
    text_room = box.width - 24
    lines = [
        "<g>",
        _render_tooltip(f"{side.kind} {side.name}", *side.lines),
        _render_rect(box, f"side l-{_select_colour(side.kind)}", 7),
        _render_text(
            box.x + 12, box.y + 18, fit_text(side.kind, text_room, 11), f"kind k-{_select_colour(side.kind)}"
        ),
        _render_text(box.x + 12, box.y + 34, fit_text(side.name, text_room, 11.5, True), "t m"),
    ]
    if side.is_created and side.is_left:
        lines.append(_render_text(box.right - 10, box.y + 18, "made for the job", "q small", anchor="end"))
    for i, line in enumerate(placed_side.lines):
        lines.append(_render_text(box.x + 12, box.y + 50 + layout.SIDE_LINE_HEIGHT * i, line, "q m"))
    return [*lines, "</g>"]


def _select_colour(kind: str) -> str:
    return "serve" if "Service" in kind else _KINDS.get(kind, "volume")


def _render_curve(curve: Curve) -> str:
    colour = _select_colour(curve.kind)
    middle = (curve.x1 + curve.x2) // 2
    if curve.shared_end:
        x, y = (curve.x1, curve.y1) if curve.shared_end == "left" else (curve.x2, curve.y2)
        dot = f'<circle class="k-{colour}" cx="{x}" cy="{y}" r="3.5"/>'
    else:
        dot = ""
    return dot + (
        f'<path class="link l-{colour}" d="M{curve.x1} {curve.y1}'
        f'C{middle} {curve.y1} {middle} {curve.y2} {curve.x2} {curve.y2}"/>'
    )


def _render_arrow(arrow: Arrow) -> list[str]:
    points = " ".join(f"{x} {y}" for x, y in arrow.points)
    lines = [f'<path class="call" d="M{points.replace(" ", ",", 1).replace(",", " ", 1)}"/>']
    tip_segments = [(arrow.points[-2], arrow.points[-1])]
    if arrow.is_mutual:
        tip_segments.append((arrow.points[1], arrow.points[0]))
    lines += [_render_tip(*end) for end in tip_segments]
    return [*lines, _render_text(*arrow.label_position, arrow.label, "label")]


def _render_tip(before: tuple[int, int], end: tuple[int, int]) -> str:
    x, y = end
    if before[1] != y:
        back = 7 if before[1] > y else -7
        return f'<path class="tip" d="M{x} {y}l-4 {back}h8z"/>'
    back = -7 if before[0] < x else 7
    return f'<path class="tip" d="M{x} {y}l{back} -4v8z"/>'


def _list_legend(graph_layout: GraphLayout) -> list[tuple[str, str]]:
    """Return the signs that occur, each with its meaning."""
    signs = [("call", "reaches (known from, port)")] if graph_layout.arrows else []
    signs += [("link", "reads, mounts, is served by")] if graph_layout.curves else []
    signs += [("dot", "all in the frame")] if any(curve.shared_end for curve in graph_layout.curves) else []
    return signs


def _render_legend(signs: Sequence[tuple[str, str]], y: int) -> list[str]:
    lines: list[str] = []
    x = layout.MARGIN
    for sign, meaning in signs:
        if sign == "call":
            lines += [f'<path class="call" d="M{x} {y - 4}h20"/>', _render_tip((x, y - 4), (x + 24, y - 4))]
        elif sign == "link":
            lines.append(f'<path class="link l-quiet" d="M{x} {y - 4}h24"/>')
        else:
            lines += [f'<path class="link l-quiet" d="M{x} {y - 4}h20"/>']
            lines += [f'<circle class="q" cx="{x + 21}" cy="{y - 4}" r="3.5"/>']
        x += 32
        lines.append(_render_text(x, y, meaning, "q small"))
        x += round(measure_text(meaning, 11)) + 26
    return lines


def _render_tooltip(*lines: str) -> str:
    """Render a tooltip with the full text of labels that may be truncated."""
    return f"<title>{'&#10;'.join(escape_xml(line) for line in lines)}</title>"


def _render_rect(box: Box, name: str, round_: int) -> str:
    size = f'width="{box.width}" height="{box.height}"'
    return f'<rect class="{name}" x="{box.x}" y="{box.y}" {size} rx="{round_}"/>'


def _render_text(x: int, y: int, text: str, name: str, full: str = "", anchor: str = "") -> str:
    anchor_attribute = f' text-anchor="{anchor}"' if anchor else ""
    tip = _render_tooltip(full) if full not in ("", text) else ""
    return f'<text class="{name}" x="{x}" y="{y}"{anchor_attribute}>{tip}{escape_xml(text)}</text>'
