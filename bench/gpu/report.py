# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What run.py shows of its results: tables, charts, and the part of docs/performance.md between the markers."""
import importlib.util
import json
import math
import pathlib
import sys

import matrices

HEAD = (f"{'operator':20} {'shape':34} {'type':4} {'us':>9} {'GB/s':>6} {'roof':>5} | {'best peer':>14} {'us':>9} "
        f"{'ratio':>6} | others")


def best_peer(line):
    found = [(p["seconds"], name) for name, p in line["peers"].items() if p["seconds"]]
    return min(found) if found else None


def ratio(line):
    """The best peer's time over ours: above 1, ours is faster."""
    best = best_peer(line)
    return best[0] / line["seconds"] if best and line["seconds"] else None


def percent(share):
    return format(share, ".0%") if share else ""


def row(line):
    best, seconds, share = best_peer(line), line["seconds"], percent(line.get("share"))
    ours = f"{'':>9} {'':>6} {'':>5}"
    if seconds:
        ours = f"{seconds * 1e6:9.2f} {line['bytes'] / seconds / 1e9:6.0f} {share:>5}"
    times = format(ratio(line), ".2f") if best and seconds else ""
    peer = f"{best[1]:>14} {best[0] * 1e6:9.2f} {times:>6}" if best else f"{'':31}"
    others = ", ".join(f"{n} {p['seconds'] * 1e6:.1f}" if p["seconds"] else f"{n}: {p['note']}"
                       for n, p in line["peers"].items() if not best or n != best[1])
    notes = "; ".join(x for x in (line.get("note"), line["error"] and "ERROR " + line["error"]) if x)
    return f"{line['op']:20} {line['shape']:34} {line['dtype']:4} {ours} | {peer} | {others} {notes}"


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def cell(values, form=".2f"):
    m = mean(values)
    return "" if m is None else format(m, form)


LARGE = 64 * 2**20


def groups(result):
    """{(operator, dtype): rows}, in order."""
    found = {}
    for line in result["rows"]:
        found.setdefault((line["op"], line["dtype"]), []).append(line)
    return found


COLUMNS = ["operator", "rows", "ratio", "from 64 MiB", "slower", "of roof from 64 MiB", "least"]


def summary_rows(result):
    """Of each operator and type: rows, geometric means of the ratio in all and in the large ones, rows below 0.98, the
    mean and least share of the roof of the large ones."""
    for (op, dtype), rows in groups(result).items():
        large = [r for r in rows if r["bytes"] >= LARGE]
        shares = [r["share"] for r in large if r.get("share")]
        slower = sum(1 for r in rows if ratio(r) and ratio(r) < 0.98)
        yield [f"{op} {dtype}", len(rows), cell([ratio(r) for r in rows]), cell([ratio(r) for r in large]), slower,
               cell(shares, ".0%"), percent(min(shares, default=None))]


def summary(result):
    form = "{:27} {:>5} {:>6} {:>12} {:>7} {:>20} {:>6}"
    lines = [form.format(*COLUMNS), *(form.format(*cells) for cells in summary_rows(result))]
    wrong = [r for r in result["rows"] if r["error"]]
    lines += [f"WRONG: {r['op']} {r['shape']} {r['dtype']}: {r['error']}" for r in wrong]
    lines.append(f"{len(result['rows'])} rows, {len(wrong)} wrong, {result.get('wall_seconds')} s")
    return "\n".join(lines)


# ---- files and charts, in the form of those of the host

def host_report():
    path = pathlib.Path(__file__).resolve().parents[1] / "compare/report.py"
    specification = importlib.util.spec_from_file_location("host_report", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def save(result, path):
    host_report().save(result, path)


SIDES = {"flaggems": "#2f81f7", "torch": "#e0701a", "torch.compile": "#2da35f", "triton": "#9a6ee0"}


def length_of_rows(line):
    return int(line["shape"].split("x")[-1]), line["shape"].split("x")[0]


def panels(result):
    """{title: (label of x, [(x, row)])} of the charts: rows over their length, the others over their bytes."""
    rows, sizes = {}, {}
    for line in result["rows"]:
        title = f"{line['op']} ({line['dtype']})"
        if line["family"] == "rows":
            if line["bytes"] >= LARGE:
                rows.setdefault(title, []).append((length_of_rows(line)[0], line))
        elif line["family"] in ("pointwise", "fused", "rope", "attention") or line["op"] in ("copy", "embedding"):
            sizes.setdefault(title, []).append((line["bytes"], line))
    return {"rows": ("elements of a row", rows), "sizes": ("bytes read and written", sizes)}


def draw(result, label, found, path):
    style = host_report()
    plt = style.plotter()
    found = {title: sorted(points, key=lambda p: p[0]) for title, points in found.items() if len(points) > 2}
    if not found:
        return False
    columns = min(4, len(found))
    lines = -(-len(found) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(2.9 * columns, 2.15 * lines + 0.7), squeeze=False)
    legend = {}
    for axis in axes.flat:
        axis.set_visible(False)
    for axis, (title, points) in zip(axes.flat, found.items()):
        axis.set_visible(True)
        roof = [(x, r["bytes"] / r["seconds"] * 1e-9 / r["share"]) for x, r in points if r.get("share")]
        legend["device copy"], = axis.plot(*zip(*roof), color=style.INK, linestyle=(0, (4, 3)), linewidth=1,
                                           alpha=0.6)
        for side, colour in SIDES.items():
            times = [r["seconds"] if side == "flaggems" else (r["peers"].get(side) or {}).get("seconds")
                     for _, r in points]
            shown = [(x, r["bytes"] / t * 1e-9) for (x, r), t in zip(points, times) if t]
            if shown:
                ours = side == "flaggems"
                legend[side], = axis.plot(*zip(*shown), color=colour, linewidth=2.2 if ours else 1.2, marker="o",
                                          markersize=4 if ours else 2.5, zorder=3 if ours else 2)
        style.rates_over_sizes(axis)
        axis.set_title(title, fontsize=8.5, loc="left")
        axis.set_ylabel("GB/s")
        axis.set_xlabel(label)
    order = [name for name in (*SIDES, "device copy") if name in legend]
    style.save_chart(figure, legend, order, columns, path)
    plt.close(figure)
    return True


# ---- docs/performance.md

BEGIN, END = "<!-- results: made by bench/gpu/run.py -->", "<!-- end of the GPU's results -->"


def table(columns, rows):
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    for cells in rows:
        yield "| " + " | ".join(map(str, cells)) + " |"


def microseconds(nanoseconds, form=".2f"):
    return "" if nanoseconds is None else format(nanoseconds / 1e3, form)


def host_lines(result):
    lines = []
    if result.get("host"):
        peers = {p["op"]: p for p in result.get("host_peers", [])}
        lines += ["What a call of 1x4096 bf16 costs the host, in microseconds until it returns: the driver's launch of the",
                  "same kernels alone, by `cuLaunchKernel` and with the attributes of our launches (`cuLaunchKernelEx`, early",
                  "launches allowed), our call, and its difference from either; the peers' calls.", ""]
        lines += table(["operator", "plain launch", "our launch alone", "our call", "over plain", "over our launch",
                        "PyTorch", "Triton"],
                       ([h["op"], microseconds(h["plain"]), microseconds(h["raw"]), microseconds(h["ours"]),
                         microseconds(h["ours"] - h["plain"], "+.2f"), microseconds(h["ours"] - h["raw"], "+.2f"),
                         *(microseconds(peers.get(h["op"], {}).get(k)) for k in ("torch", "triton"))]
                        for h in result["host"]))
        lines.append("")
    for key, words in (("first", "First call of an operator, compiled by NVRTC"),
                       ("cached", "First call of an operator in a process, its code in the disk cache")):
        times = [r["us"] / 1e3 for r in result.get(key, []) if r["us"] > 100]
        if times:
            later = sorted(times[1:])
            lines.append(f"{words}: {times[0]:.1f} ms for the first in the process, then {later[0]:.1f} to "
                         f"{later[-1]:.1f} ms (median {later[len(later) // 2]:.1f}).")
    return lines


def bytes_text(n):
    return f"{n // 2**20} MiB" if n < 2**30 else f"{n // 2**30} GiB"


def section(name, result, charts):
    large = [(b, s) for b, s in result["roofs"]["copy"] if b >= 2**24]
    copies = ", ".join(f"{b / s * 1e-12:.2f} TB/s at {bytes_text(b)}" for b, s in large)
    lines = [f"### {result['gpu']} (`{name}`)", "",
             f"{result['date']}, driver {result['driver']}, NVRTC {result.get('nvrtc', '?')}, "
             f"{result.get('cxx', 'g++')}; PyTorch {result['torch']}, Triton {result['triton']}. Copying on the "
             f"device: {copies}.", "", *table(COLUMNS, summary_rows(result)), "", *host_lines(result)]
    wrong = [f"{r['op']} {r['shape']} {r['dtype']} ({r['error'][:60]})" for r in result["rows"] if r["error"]]
    if wrong:
        lines += ["", "Wrong or not run: " + "; ".join(wrong) + "."]
    repeated = list(dict.fromkeys(f"{r['op']} {r['shape']}" for r in result["rows"] if r.get("note")))
    if repeated:
        lines += ["", "Not captured but called again and again, so that short ones have in their time what a call "
                  "costs the host: " +
                  ", ".join(repeated) + "."]
    slow = sorted((r for r in result["rows"] if ratio(r) and ratio(r) < 0.9), key=ratio)[:25]
    if slow:
        lines += ["", "Where the best peer is furthest ahead:", ""]
        lines += table(["operator", "shape", "type", "us", "ratio", "peer", "of roof"],
                       ([r["op"], r["shape"], r["dtype"], f"{r['seconds'] * 1e6:.1f}", f"{ratio(r):.2f}",
                         best_peer(r)[1], percent(r.get("share"))] for r in slow))
    lines.append("")
    lines += [f"![{what} on {name}](charts/{file})\n" for what, file in charts]
    return "\n".join(lines)


def write(root):
    """Charts of every result (those there are stay without matplotlib), and the page's part about them."""
    drawing = importlib.util.find_spec("matplotlib") is not None
    if not drawing:
        print("no matplotlib: the charts stay as they are")
    sections = []
    for path in sorted((root / "bench/results").glob("gpu-*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        charts = []
        for what, (label, found) in panels(result).items():
            file = f"{path.stem}-{what}.svg"
            drawn = root / "docs/charts" / file
            if draw(result, label, found, drawn) if drawing else drawn.exists():
                charts.append((what, file))
        sections.append(section(path.stem.removeprefix("gpu-"), result, charts))
    page = root / "docs/performance.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    page.write_text(before + BEGIN + "\n\n" + "\n".join(sections) + "\n" + END + rest.split(END)[1], encoding="utf-8")
    matrices.write(root, sys.modules[__name__], drawing)
    return 0
