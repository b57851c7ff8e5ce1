#!/usr/bin/env python3
"""memcmp-picture.py - draws what bench/memcmp -t FILE wrote: memcmp-picture.py FILE MACHINE >memcmp.svg"""
import html
import math
import re
import sys

# name in the file: what the picture says, colour (readable on light and dark), size of the dot
SERIES = {
    "byte loop": ("byte loop", "#9467bd", 3.5),
    "rep cmpsb": ("rep cmpsb", "#d62728", 3.5),
    "closed": ("fastsha, door closed", "#8c8c8c", 3.5),
    "avx2": ("fastsha, AVX2", "#2ca02c", 4.5),
    "avx512": ("fastsha, AVX-512", "#f58518", 5.5),
}
LOW, HIGH = 0.25, 16  # of the axis: time divided by glibc's
LEFT, WIDTH, STEP, TOP = 190, 620, 19, 114

GROUPS = [
    ("n bytes, all equal, in the first cache level", r"(1|8|20|32|40|64|128|256|512|1024|4096|16384) equal$", lambda n: n.split()[0] + (" byte" if n[:2] == "1 " else " bytes")),
    ("1 to 64 bytes at random: where they first differ", r"1\.\.64 ", lambda n: n.split(" ", 1)[1]),
    ("Calls of git commands, drawn from their histogram", r"git .*, drawn$", lambda n: n[4:-7]),
    ("Calls of git commands, as recorded", r"git .*, replayed$", lambda n: n[4:-10]),
    ("Larger, and not cached", r"(128 K|1024 K|binary|cold)", lambda n: n),
]


def x(ratio):
    ratio = min(max(ratio, LOW), HIGH)
    return LEFT + WIDTH * math.log(ratio / LOW) / math.log(HIGH / LOW)


rows = {}
for line in open(sys.argv[1], encoding="ascii"):
    row, function, _, cycles, _, _ = line.rstrip("\n").split("\t")
    rows.setdefault(row, {})[function] = float(cycles)

out, y = [], TOP
for title, pattern, label in GROUPS:
    names = [name for name in rows if re.match(pattern, name)]
    y += 26
    out.append(f'<text class="group" x="12" y="{y}">{title}</text>')
    for name in names:
        y += STEP
        out.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{label(name)}</text>')
        out.append(f'<line class="rule" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}"/>')
        for function, (_, colour, size) in SERIES.items():
            if function in rows[name]:
                ratio = rows[name][function] / rows[name]["glibc"]
                if ratio > HIGH:  # an arrow instead of a dot
                    out.append(f'<path fill="{colour}" d="M{LEFT + WIDTH} {y - size} l{2 * size} {size} l{-2 * size} {size} z"/>')
                else:
                    out.append(f'<circle cx="{x(ratio):.1f}" cy="{y}" r="{size}" fill="{colour}"/>')
bottom = y + 16

axis = []
for ratio in (0.25, 0.5, 1, 2, 4, 8, 16):
    kind = "one" if ratio == 1 else "grid"
    axis.append(f'<line class="{kind}" x1="{x(ratio):.1f}" x2="{x(ratio):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
    axis.append(f'<text x="{x(ratio):.1f}" y="{TOP - 12}" text-anchor="middle">{"1 = glibc" if ratio == 1 else f"{ratio:g}"}</text>')

legend, at = [], LEFT
for text, colour, size in SERIES.values():
    legend.append(f'<circle cx="{at}" cy="66" r="{size}" fill="{colour}"/><text x="{at + 10}" y="70">{text}</text>')
    at += 34 + 7 * len(text)

print(f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 30} {bottom + 14}" font-family="sans-serif" font-size="12">
<style>
text {{ fill: #222 }} .background {{ fill: #fff }} .rule {{ stroke: #eee }} .grid {{ stroke: #ccc }} .one {{ stroke: #222; stroke-width: 1.5 }}
.title {{ font-size: 16px; font-weight: bold }} .group {{ font-weight: bold }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #ddd }} .background {{ fill: #181818 }} .rule {{ stroke: #2a2a2a }} .grid {{ stroke: #444 }} .one {{ stroke: #ddd }}
}}
</style>
<rect class="background" width="100%" height="100%"/>
<text class="title" x="12" y="24">memcmp: time of a call divided by glibc's; further left is faster</text>
<text x="12" y="44">{html.escape(sys.argv[2])}</text>''')
print("\n".join(legend + axis + out))
print("</svg>")
