# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and charts of bench/results/{products,attention,tutorial}-NAME.txt for docs/performance.md, by
bench/gpu/run.py --report."""
import re

BEGIN, END = "<!-- matrices: made by bench/gpu/run.py -->", "<!-- end of matrices -->"
PRODUCT = re.compile(r"^(\S.*?)\s+((?:\d+x)+\d+ [NT]{2})\s+([\d.]+) us\s+([\d.]+) \|\s+([\d.]+)\s+([\d.]+)")
ATTENTION = re.compile(r"^(\S.*?)\s{2,}((\d+) x (\d+)(?:/\d+)? heads of (\d+), (\d+))\s+bf16\s+([\d.]+)\s.*?\|\s+cudnn\s+"
                       r"([\d.]+)\s+[\d.]+ \|(?: flash ([\d.]+))?")
TUTORIAL = re.compile(r"^\s*(\d+) \|" + r"\s+([\d.]+)" * 3 + r"\s+\|" + r"\s+([\d.]+)" * 3)
PEERS = {"cuBLAS": "#e0701a", "cuDNN": "#e0701a", "FlashAttention": "#9a6ee0"}


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def products(folder, name):
    """(operator, shape, TFLOP/s, cuBLAS's) of each line."""
    found = filter(None, map(PRODUCT.match, lines_of(folder / f"products-{name}.txt")))
    return [(m[1] if is_whole(m[2]) else f"{m[1]}, rows of no whole vectors", m[2], float(m[4]), float(m[5]))
            for m in found]


def is_whole(shape):
    return int(shape.split()[0].split("x")[-2]) % 8 == 0


def remarks(path):
    """What the file says about its run: its comments but the licence and the columns."""
    said = " ".join(l[2:] for l in lines_of(path) if l.startswith("# ") and "SPDX" not in l and "Geometric" not in l)
    return re.sub(r"\s*Columns:.*", "", said)


def attention(folder, name):
    """(kind, case, heads' size, positions, TFLOP/s, cuDNN's, FlashAttention's or None) of each line."""
    for m in filter(None, map(ATTENTION.match, lines_of(folder / f"attention-{name}.txt"))):
        kind, size, positions = m[1], int(m[5]), int(m[6])
        work = 4e-6 * int(m[3]) * int(m[4]) * size * positions ** 2  # of us, as TFLOP/s
        work *= (0.5 if "causal" in kind else 1) * (2.5 if "backward" in kind else 1)
        yield kind, m[2], size, positions, *(work / float(t) if t else None for t in (m[7], m[8], m[9]))


def panels(folder, name):
    """{title: (label of x, [(x, {side: TFLOP/s})])}."""
    found = {}
    for op, shape, ours, theirs in products(folder, name):
        sizes = set(shape.split()[0].split("x"))
        if op == "mm" and len(sizes) == 1 and shape.endswith("NT"):
            found.setdefault("mm, m = n = k (bf16)", ("rows", []))[1].append(
                (int(sizes.pop()), {"flaggems": ours, "cuBLAS": theirs}))
    for kind, case, size, positions, ours, cudnn, flash in attention(folder, name):
        if size in (64, 128) and "/" not in case and "mask" not in kind:
            found.setdefault(f"{kind}, heads of {size} (bf16)", ("positions", []))[1].append(
                (positions, {"flaggems": ours, "cuDNN": cudnn, "FlashAttention": flash}))
    return found


def draw(found, style, path):
    plt, sides = style.plotter(), {"flaggems": "#2f81f7", **PEERS}
    columns = 3
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.9 * columns, 2.15 * rows + 0.7), squeeze=False)
    legend = {}
    for axis in axes.flat:
        axis.set_visible(False)
    for axis, (title, (label, points)) in zip(axes.flat, found.items()):
        axis.set_visible(True)
        for side, colour in sides.items():
            shown = [(x, rates[side]) for x, rates in sorted(points, key=lambda p: p[0]) if rates.get(side)]
            if shown:
                ours = side == "flaggems"
                legend[side], = axis.plot(*zip(*shown), color=colour, linewidth=2.2 if ours else 1.2, marker="o",
                                          markersize=4 if ours else 2.5, zorder=3 if ours else 2)
        axis.set_xscale("log", base=2)
        axis.set_ylim(bottom=0)
        axis.set_xticks([x for x, _ in points])
        axis.set_xticklabels([str(x) for x, _ in points], fontsize=7)
        axis.grid(color=style.FAINT, linewidth=0.6)
        axis.tick_params(length=0)
        for spine in axis.spines.values():
            spine.set_visible(False)
        axis.set_title(title, fontsize=8.5, loc="left")
        axis.set_ylabel("TFLOP/s")
        axis.set_xlabel(label)
    style.save_chart(figure, legend, [s for s in sides if s in legend], columns, path)
    plt.close(figure)


def section(folder, name, report, chart):
    lines = [f"### Products and attention (`{name}`)", ""]
    found = products(folder, name)
    if found:
        lines += [remarks(folder / f"products-{name}.txt"), "",
                  "TFLOP/s of products of many rows in bf16; N and T as BLAS has them.", ""]
        lines += report.table(["m x n x k", "ours", "cuBLAS", "ratio"],
                              ([shape, f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}"]
                               for op, shape, ours, theirs in found
                               if op.split(",")[0] == "mm" and shape.endswith("NT")))
        lines += ["", "Geometric means of ours over cuBLAS's, with as much fused on both sides:", ""]
        lines += report.table(["operator", "rows", "ratio", "least"], (
            [op, len(r), report.cell(r), f"{min(r):.2f}"] for op, r in
            ((op, [a / b for o, _, a, b in found if o == op]) for op in dict.fromkeys(o for o, *_ in found))))
    found = list(attention(folder, name))
    if found:
        lines += ["", remarks(folder / f"attention-{name}.txt"), "", "TFLOP/s of attention of many queries in bf16 (half the square if causal; gradients 2.5 times as much).", ""]
        lines += report.table(["", "case", "ours", "cuDNN", "FlashAttention", "over cuDNN"], (
            [kind, case, f"{ours:.0f}", f"{cudnn:.0f}", f"{flash:.0f}" if flash else "", f"{ours / cudnn:.2f}"]
            for kind, case, _, _, ours, cudnn, flash in found))
    squares = [m.groups() for m in map(TUTORIAL.match, lines_of(folder / f"tutorial-{name}.txt")) if m]
    if squares:
        lines += ["", "The product of Triton's tutorial, f16, m = n = k: TFLOP/s, and the largest error.", ""]
        lines += report.table(["m = n = k", "ours", "Triton", "cuBLAS", "our error", "Triton's", "cuBLAS's"], squares)
    lines.append("")
    return "\n".join(lines + ([f"![products and attention on {name}](charts/{chart})", ""] if chart else []))


def write(root, report, drawing):
    """The part of the page, of all machines with products or attention; charts if there is matplotlib."""
    folder, sections = root / "bench/results", []
    names = sorted({p.stem.split("-")[-1] for kind in ("products", "attention") for p in folder.glob(f"{kind}-*.txt")
                    if p.stem.count("-") == 1})
    for name in names:
        found, chart = panels(folder, name), f"gpu-{name}-matrices.svg"
        if found and drawing:
            draw(found, report.host_report(), root / "docs/charts" / chart)
        sections.append(section(folder, name, report, found and (root / "docs/charts" / chart).exists() and chart))
    page = root / "docs/performance.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    page.write_text(before + BEGIN + "\n\n" + "\n".join(sections) + "\n" + END + rest.split(END)[1], encoding="utf-8")
