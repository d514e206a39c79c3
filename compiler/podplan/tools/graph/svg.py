"""Pictures as one SVG: no scripts, no fonts of its own, a light and a dark dress.

The panel has a ground of its own, so it can be read on any page; a reader who prefers dark gets it dark.
"""

from __future__ import annotations

from collections.abc import Sequence

from podplan.tools.graph import layout
from podplan.tools.graph.boxes import STACK, Box, CardAt, SideAt
from podplan.tools.graph.layout import Plate, columns, laid_out
from podplan.tools.graph.model import Picture, said
from podplan.tools.graph.routing import Arrow, Curve
from podplan.tools.graph.text_width import fit, width

_SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',Helvetica,Arial,sans-serif"
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono','DejaVu Sans Mono',monospace"
_BETWEEN = 16  # pictures below one another
_LEGEND = 26

# What a colour is for: light, dark.
_COLOURS = {
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
_RULES = (
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
_FIXED = f"""text{{font-family:{_SANS};font-size:12px}}
.m,.label{{font-family:{_MONO};font-size:11px}}
.name{{font-size:18px;font-weight:600}}.totals{{font-size:15px;font-weight:600}}
.b{{font-weight:600}}.title{{font-size:14px;font-weight:600}}.small{{font-size:11px}}
.kind{{font-size:10.5px;font-weight:600}}.chip-text{{font-size:11.5px;font-weight:600}}
.card{{stroke-width:1.5}}.back{{stroke-width:1;stroke-opacity:.6}}
.gang{{fill:none;stroke-width:1.25;stroke-dasharray:5 4}}
.link{{fill:none;stroke-width:1.25;stroke-opacity:.75}}.call{{fill:none;stroke-width:1.75}}
.label{{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}}"""
_KINDS = {"ConfigMap": "config", "Secret": "secret"}


def svg(pictures: Sequence[Picture]) -> str:
    """The pictures below one another, as the text of an SVG file."""
    shown = columns(pictures)
    plates = [laid_out(picture, shown) for picture in pictures]
    wide = max(plate.width for plate in plates)
    legends = [_legend(plate) for plate in plates]
    body: list[str] = []
    y = 0
    for plate, legend in zip(plates, legends, strict=True):
        high = plate.height + (_LEGEND if legend else 0)
        move = f' transform="translate(0 {y})"' if y else ""
        body += [f"<g{move}>", *_plate(plate, wide, high, legend), "</g>"]
        y += high + _BETWEEN
    high = y - _BETWEEN
    title = "; ".join(f"{one.name}: {one.kind}, {one.totals}" for one in pictures)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        'role="img" aria-labelledby="podplan-title podplan-desc">',
        f'<title id="podplan-title">{escape(title)}</title>',
        f'<desc id="podplan-desc">{escape(" ".join(said(one) for one in pictures))}</desc>',
        f"<style>\n{_style()}\n</style>",
        *body,
        "</svg>\n",
    ])  # fmt: skip


def escape(text: str) -> str:
    """Text for XML; what XML forbids, and what would turn the writing round, becomes U+FFFD."""
    safe = "".join(char if _allowed(char) else "\ufffd" for char in text)
    return safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _allowed(char: str) -> bool:
    code = ord(char)
    if code < 0xA0:
        return 0x20 <= code < 0x7F
    turns = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F, 0x061C)
    return not (turns or 0xD800 <= code <= 0xDFFF or code & 0xFFFE == 0xFFFE or 0x2028 <= code <= 0x2029)


def _style() -> str:
    def dress(which: int) -> str:
        return "".join(f"{where}{{{what}:{_COLOURS[name][which]}}}" for where, what, name in _RULES)

    return f"{_FIXED}\n{dress(0)}\n@media (prefers-color-scheme:dark){{{dress(1)}}}"


def _plate(plate: Plate, wide: int, high: int, legend: Sequence[tuple[str, str]]) -> list[str]:
    return [
        f'<rect class="ground" x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="10"/>',
        *_header(plate.picture, wide),
        *(_gang(plate.gang, plate.picture) if plate.gang is not None else []),
        *(_note(plate.note, plate.picture.note) if plate.note is not None else []),
        *(_curve(curve) for curve in plate.curves),
        *(line for at in plate.sides for line in _side(at)),
        *(line for at in plate.cards for line in _card(at)),
        *(line for arrow in plate.arrows for line in _arrow(arrow)),
        *_legend_line(legend, high - 16),
    ]


def _header(picture: Picture, wide: int) -> list[str]:
    x, room = layout.MARGIN, wide - 2 * layout.MARGIN
    totals = fit(picture.totals, room // 2, 15)
    name = fit(picture.name, room - width(totals, 15) * 1.05 - 20, 18)
    under = " · ".join((picture.kind, *picture.tags))
    return [
        _text(x, 36, name, "t name", picture.name),
        _text(wide - x, 36, totals, "t totals", picture.totals, "end"),
        _text(x, 57, fit(under, room, 12), "q", under),
        f'<path class="rule" d="M{x} 69.5H{wide - x}"/>',
    ]


def _gang(box: Box, picture: Picture) -> list[str]:
    assert picture.gang is not None
    room = box.width - 2 * layout.GANG_PAD
    return [
        _rect(box, "gang", 12),
        _text(
            box.x + 14, box.y + 19, fit(f"PodGroup {picture.gang.name}", room, 12), "t b", picture.gang.name
        ),
        _text(box.x + 14, box.y + 35, fit(picture.gang.line, room, 11), "q small", picture.gang.line),
    ]


def _note(box: Box, note: str) -> list[str]:
    first, _, rest = note.partition(" (")
    middle, room = box.x + box.width // 2, box.width - 20
    lines = [_text(middle, box.y + (27 if rest else 34), fit(first, room, 12), "t b", anchor="middle")]
    if rest:
        lines.append(_text(middle, box.y + 44, fit(rest.rstrip(")"), room, 11), "q small", anchor="middle"))
    return [_rect(box, "gang", 10), *lines]


def _card(at: CardAt) -> list[str]:
    card, box = at.card, at.box
    fields = [f"{label} {value}" for label, value in card.fields]
    lines = [
        "<g>",
        _tip_of(f"{card.title} {card.name}", *fields, *(f"{row.name} {row.runs}" for row in card.rows)),
    ]
    if card.many:
        lines += [_rect(box._replace(x=box.x + n, y=box.y + n), "back", 9) for n in (STACK, STACK // 2)]
    lines.append(_rect(box, "card", 9))
    head = f"M{box.x + 1} {box.y + 42}v-33a8 8 0 0 1 8-8h{box.width - 18}a8 8 0 0 1 8 8v33z"
    lines.append(f'<path class="head" d="{head}"/>')
    room = float(box.width - 2 * layout.CARD_PAD)
    count = fit(card.chip, room // 2, 11.5)
    chip = round(width(count, 11.5) * 1.08) + 16 if count else 0
    lines += [
        _text(box.x + 12, box.y + 19, fit(card.title, room - chip - 8, 14), "t title"),
        _text(box.x + 12, box.y + 35, fit(card.name, room, 11, True), "q m"),
    ]
    if card.chip:
        lines.append(_rect(Box(box.right - chip - 8, box.y + 7, chip, 19), "chip", 9))
        lines.append(_text(box.right - chip // 2 - 8, box.y + 21, count, "chip-text", anchor="middle"))
    y = box.y + layout.CARD_HEAD + 10
    for label, values in at.fields:
        lines.append(_text(box.x + 12, y, label, "q small"))
        for value in values:
            lines.append(_text(box.x + 12 + layout.LABEL_ROOM, y, value, "t"))
            y += layout.LINE
    for row, where in zip(card.rows, at.rows, strict=True):
        half = where.width * 6 // 10
        name = fit(row.name, half - 16, 11, True)
        runs = fit(row.runs, where.width - 24 - width(name, 11, True) - 8, 11)
        lines += [
            _rect(where, "row", 5),
            _text(where.x + 8, where.y + 17, name, "row-name m"),
            _text(where.right - 8, where.y + 17, runs, "q small", anchor="end"),
        ]
    return [*lines, "</g>"]


def _side(at: SideAt) -> list[str]:
    side, box = at.side, at.box
    room = box.width - 24
    lines = [
        "<g>",
        _tip_of(f"{side.kind} {side.name}", *side.lines),
        _rect(box, f"side l-{_colour(side.kind)}", 7),
        _text(box.x + 12, box.y + 18, fit(side.kind, room, 11), f"kind k-{_colour(side.kind)}"),
        _text(box.x + 12, box.y + 34, fit(side.name, room, 11.5, True), "t m"),
    ]
    if side.made and side.left:
        lines.append(_text(box.right - 10, box.y + 18, "made for the job", "q small", anchor="end"))
    for i, line in enumerate(at.lines):
        lines.append(_text(box.x + 12, box.y + 50 + layout.SIDE_LINE * i, line, "q m"))
    return [*lines, "</g>"]


def _colour(kind: str) -> str:
    return "serve" if "Service" in kind else _KINDS.get(kind, "volume")


def _curve(curve: Curve) -> str:
    colour = _colour(curve.kind)
    middle = (curve.x1 + curve.x2) // 2
    if curve.all:
        x, y = (curve.x1, curve.y1) if curve.all == "left" else (curve.x2, curve.y2)
        dot = f'<circle class="k-{colour}" cx="{x}" cy="{y}" r="3.5"/>'
    else:
        dot = ""
    return dot + (
        f'<path class="link l-{colour}" d="M{curve.x1} {curve.y1}'
        f'C{middle} {curve.y1} {middle} {curve.y2} {curve.x2} {curve.y2}"/>'
    )


def _arrow(arrow: Arrow) -> list[str]:
    points = " ".join(f"{x} {y}" for x, y in arrow.points)
    lines = [f'<path class="call" d="M{points.replace(" ", ",", 1).replace(",", " ", 1)}"/>']
    ends = [(arrow.points[-2], arrow.points[-1])]
    if arrow.both:
        ends.append((arrow.points[1], arrow.points[0]))
    lines += [_tip(*end) for end in ends]
    return [*lines, _text(*arrow.at, arrow.label, "label")]


def _tip(before: tuple[int, int], end: tuple[int, int]) -> str:
    x, y = end
    if before[1] != y:
        back = 7 if before[1] > y else -7
        return f'<path class="tip" d="M{x} {y}l-4 {back}h8z"/>'
    back = -7 if before[0] < x else 7
    return f'<path class="tip" d="M{x} {y}l{back} -4v8z"/>'


def _legend(plate: Plate) -> list[tuple[str, str]]:
    """The signs that occur, each with what it means."""
    signs = [("call", "reaches (known from, port)")] if plate.arrows else []
    signs += [("link", "reads, mounts, is served by")] if plate.curves else []
    signs += [("dot", "all in the frame")] if any(curve.all for curve in plate.curves) else []
    return signs


def _legend_line(signs: Sequence[tuple[str, str]], y: int) -> list[str]:
    lines: list[str] = []
    x = layout.MARGIN
    for sign, meaning in signs:
        if sign == "call":
            lines += [f'<path class="call" d="M{x} {y - 4}h20"/>', _tip((x, y - 4), (x + 24, y - 4))]
        elif sign == "link":
            lines.append(f'<path class="link l-quiet" d="M{x} {y - 4}h24"/>')
        else:
            lines += [f'<path class="link l-quiet" d="M{x} {y - 4}h20"/>']
            lines += [f'<circle class="q" cx="{x + 21}" cy="{y - 4}" r="3.5"/>']
        x += 32
        lines.append(_text(x, y, meaning, "q small"))
        x += round(width(meaning, 11)) + 26
    return lines


def _tip_of(*lines: str) -> str:
    """What a browser shows in full, of texts that may be cut, where the mouse rests."""
    return f"<title>{'&#10;'.join(escape(line) for line in lines)}</title>"


def _rect(box: Box, name: str, round_: int) -> str:
    size = f'width="{box.width}" height="{box.height}"'
    return f'<rect class="{name}" x="{box.x}" y="{box.y}" {size} rx="{round_}"/>'


def _text(x: int, y: int, text: str, name: str, full: str = "", anchor: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor else ""
    tip = _tip_of(full) if full not in ("", text) else ""
    return f'<text class="{name}" x="{x}" y="{y}"{where}>{tip}{escape(text)}</text>'
