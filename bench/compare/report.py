# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What run.py shows of its results: the table, geometric means, charts, and the part of docs/performance.md
between the markers."""
import importlib.util
import json
import math
import re

HEAD = (f"{'operator':22} {'size':24} {'type':5} {'threads':>7} {'in':>4} {'time':>10} {'rate':>14} "
        f"{'best peer':>16} {'ratio':>6} {'of roof':>7}")
CLASSES = ["L1", "L2", "L3", "DRAM"]


def best_peer(line):
    """(name, seconds, note) of the fastest peer, or None."""
    peers = [(p["seconds"], name, p["note"]) for name, p in line["peers"].items()]
    if not peers:
        return None
    seconds, name, note = min(peers)
    return name, seconds, note


def ratio(line):
    """Their time over ours: above 1, ours is faster. None without a peer."""
    best = best_peer(line)
    return best[1] / line["seconds"] if best else None


def by_best_times(line):
    """The same of the shortest times, which a busy machine disturbs less."""
    times = [p["best_seconds"] for p in line["peers"].values()]
    return min(times) / line["best_seconds"] if times else None


def rate(line):
    computed = line.get("roof", {}).get("kind") in ("f32", "f64", "bf16", "i8")
    if computed or not line["bytes"]:
        return f"{line['flops'] / line['seconds'] / 1e9:.1f} GFLOP/s" if line["flops"] else ""
    return f"{line['bytes'] / line['seconds'] / 1e9:.1f} GB/s"


def time(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def row(line):
    best, share = best_peer(line), line.get("share")
    peer = (best[0] + ("*" if best[2] else "")) if best else "none"
    return (f"{line['op']:22} {line['shape']:24} {line['dtype']:5} {line['threads']:7} {line['class']:>4} "
            f"{time(line['seconds']):>9}{'~' if line['calm'] < 3 else ' '} {rate(line):>14} {peer:>16} "
            f"{'' if best is None else format(ratio(line), '.2f'):>6} "
            f"{'' if share is None else format(share, '.0%'):>7}")


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def cell(values, form=".2f"):
    m = mean(values)
    return "" if m is None else format(m, form)


def families(result):
    seen = []
    for line in result["rows"]:
        if line["family"] not in seen:
            seen.append(line["family"])
    return seen


def summary_rows(result):
    """Of each family, type and number of threads: geometric means of the ratio, in each class and in all; rows,
    rows below 1, the share of the roof, in all and in memory."""
    groups = {}
    for line in result["rows"]:
        if line["family"] != "scaling":
            groups.setdefault((line["family"], line["dtype"], line["threads"]), []).append(line)
    order = families(result)
    for (family, dtype, threads), rows in sorted(groups.items(), key=lambda g: (order.index(g[0][0]), *g[0][1:])):
        ratios = [ratio(r) for r in rows]
        yield {"family": f"{family} {dtype}", "threads": threads,
               **{c: cell([ratio(r) for r in rows if r["class"] == c]) for c in CLASSES},
               "all": cell(ratios), "best": cell([by_best_times(r) for r in rows]),
               "rows": len(rows), "slower": sum(1 for q in ratios if q and q < 0.98),
               "share": cell([r.get("share") for r in rows], ".0%"),
               "memory": cell([r.get("share") for r in rows if r["class"] == "DRAM"], ".0%")}


def small_calls(result):
    """A table of nanoseconds a call: ours, and libtorch's."""
    rows = [r for r in result["rows"] if r["family"] == "small"]
    sizes = list(dict.fromkeys(r["shape"] for r in rows))
    lines = ["| ns a call: ours (libtorch) | " + " | ".join(sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
    for op in dict.fromkeys(r["op"] for r in rows):
        cells = []
        for size in sizes:
            found = [r for r in rows if r["op"] == op and r["shape"] == size]
            cells.append("".join(f"{r['seconds'] * 1e9:.0f}" + (
                f" ({r['peers']['torch']['seconds'] * 1e9:.0f})" if "torch" in r["peers"] else "") for r in found))
        lines.append(f"| {op} | " + " | ".join(cells) + " |")
    return lines if rows else []


def scaling_lines(result):
    """Time of one thread over n times that of n; what twice as many threads as processors cost; two streams."""
    rows = [r for r in result["rows"] if r["family"] == "scaling"]
    lines, processors = [], result.get("processors", 1)
    for op in dict.fromkeys(r["op"] for r in rows):
        times = {r["threads"]: r["seconds"] for r in rows if r["op"] == op}
        shares = {r["threads"]: r.get("share") for r in rows if r["op"] == op}
        if 1 not in times:
            continue
        parts = [f"{n} threads: {times[1] / t:.2f}x ({times[1] / t / n:.0%} each, {shares[n]:.0%} of roof)"
                 for n, t in sorted(times.items()) if 1 < n <= processors]
        if 2 * processors in times and processors in times:
            parts.append(f"{2 * processors} threads on {processors}: {times[2 * processors] / times[processors] - 1:+.0%}"
                         " of time")
        lines.append(f"{op}: " + "; ".join(parts))
    for s in result.get("streams", []):
        both = s["first"] + s["second"]
        lines.append(f"{s['streams']} {s['shape']}, two streams at once: {s['first'] / s['alone']:.0%} and "
                     f"{s['second'] / s['alone']:.0%} of one alone (together {both / s['alone']:.0%}, the first "
                     f"{s['first'] / both:.0%} of it)")
    return lines


def summary(result):
    lines = ["geometric means of ours over the best peer (their time / ours)",
             f"{'family':15} {'threads':>7} " + " ".join(f"{c:>6}" for c in CLASSES) +
             f" {'all':>6} {'(best)':>6} {'rows':>5} {'slower':>6} {'of roof':>7} {'in DRAM':>7}"]
    for s in summary_rows(result):
        lines.append(f"{s['family']:15} {s['threads']:7} " + " ".join(f"{s[c]:>6}" for c in CLASSES) +
                     f" {s['all']:>6} {s['best']:>6} {s['rows']:5} {s['slower']:6} {s['share']:>7} {s['memory']:>7}")
    lines += scaling_lines(result)
    for name, why in result["missing"].items():
        lines.append(f"missing peer: {name} ({why})")
    return "\n".join(lines)


def save(result, path):
    """One row a line, so that changes can be read."""
    head = {k: v for k, v in result.items() if k != "rows"}
    rows = ",\n".join(json.dumps(r) for r in result["rows"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + rows + "\n]}\n", encoding="ascii")


# ---- charts

SIDES = {"flaggems": "#2f81f7", "torch": "#e0701a", "OpenBLAS": "#2da35f", "oneDNN": "#9a6ee0", "Eigen": "#d4548b",
         "ggml": "#1f9fb0"}
# Colours that the chart's own style sheet replaces: ink, lines behind, paper.
INK, FAINT, PAPER = "#101112", "#d0d1d2", "#fefdfc"
STYLE = """<style>
svg { --ink: #1f2328; --faint: #d8dee4; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { svg { --ink: #d1d7e0; --faint: #3d444d; --paper: #151b23; } }
</style>"""
COMPUTED = ("f32", "f64", "bf16", "i8")


def is_computed(line):
    return line.get("roof", {}).get("kind") in COMPUTED


def panels(family, rows):
    """What a family's chart shows: {title: rows}, each a series of sizes of one operator."""
    def kind(line):
        shape = line["shape"].split()
        sizes = shape[0].split("x")
        if family in ("softmax", "norm"):
            return f"{line['op']}, rows of {sizes[-1]}" if sizes[-1] in ("1024", "4096") else None
        if family == "reduce":
            return None if line["op"] == "mean" else " ".join([line["op"], *shape[1:]])
        if family in ("gemm", "int8"):
            if line["op"] != "mm" or is_computed(line) and len(set(sizes)) > 1:
                return None
            return f"{shape[-1]} square" if len(set(sizes)) == 1 and is_computed(line) else None
        if family == "quantized":
            return f"{line['op']}, {'1 row' if sizes[0] == '1' else '512 rows' if sizes[0] == '512' else 'few'}"
        if family == "attention":
            return f"{line['op']}, heads of {sizes[-1]}"
        return line["op"]

    groups = {}
    for line in rows:
        title = kind(line)
        if title:
            groups.setdefault(f"{title} ({line['dtype']})", []).append(line)
    return {title: group for title, group in groups.items() if len(group) > 1}


def size_text(value, _=None):
    for unit, size in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"


def plotter():
    """matplotlib.pyplot in the charts' style."""
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "flaggems", "font.family": "sans-serif",
                         "font.size": 8.5, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": FAINT,
                         "xtick.color": INK, "ytick.color": INK, "axes.facecolor": PAPER,
                         "figure.facecolor": PAPER, "savefig.facecolor": PAPER})
    return plt


def rates_over_sizes(axis):
    """The scales, ticks and grid of a panel."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.xaxis.set_major_locator(LogLocator(base=2, numticks=5))
    axis.xaxis.set_major_formatter(FuncFormatter(size_text))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=9))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(color=FAINT, linewidth=0.6)
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)


def save_chart(figure, legend, order, columns, path):
    """The figure with a legend above it, as an SVG that follows the reader's colour scheme."""
    across = min(len(order), 2 * columns)
    figure.legend([legend[name] for name in order], order, loc="upper left", ncol=across, frameon=False,
                  fontsize=9.5, handlelength=1.8, borderaxespad=0.3)
    figure.tight_layout(rect=(0, 0, 1, 1 - (0.1 + 0.22 * -(-len(order) // across)) / figure.get_figheight()))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    text = path.read_text(encoding="utf-8")
    for colour, name in ((INK, "ink"), (FAINT, "faint"), (PAPER, "paper")):
        text = text.replace(colour, f"var(--{name})")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<defs>\s*<style", STYLE + "\n <defs>\n  <style", text, count=1)
    text = re.sub(r"(\d+\.\d\d)\d+", r"\1", text)
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    path.write_text(text, encoding="utf-8")


def chart(family, rows, path):
    """Ours, every peer and the roof over the size, a panel for each operator; one line of panels for each number
    of threads. Returns whether there is anything to show."""
    plt = plotter()
    threads = sorted({r["threads"] for r in rows})
    shown = {n: panels(family, [r for r in rows if r["threads"] == n]) for n in threads}
    titles = []
    for n in threads:
        titles += [t for t in shown[n] if t not in titles]
    titles = titles[:8]
    if not titles:
        return False
    columns = min((-len(titles) % n, -n, n) for n in (3, 4, 5))[2] if len(titles) > 5 else len(titles)
    lines = [(n, titles[i:i + columns]) for n in threads for i in range(0, len(titles), columns)]
    figure, axes = plt.subplots(len(lines), columns, figsize=(max(2.9 * columns, 4), 2.15 * len(lines) + 0.7),
                                squeeze=False)
    legend = {}
    for (n, names), line in zip(lines, axes):
        for axis in line:
            axis.set_visible(False)
        for axis, title in zip(line, names):
            group = sorted(shown[n].get(title, []), key=lambda r: r["working_set"])
            if not group:
                continue
            axis.set_visible(True)
            x = [r["working_set"] for r in group]
            computed = is_computed(group[0]) or not group[0]["bytes"]
            work = [r["flops"] if computed else r["bytes"] for r in group]
            roofs = [r["roof"]["rate"] / 1e9 if "roof" in r else None for r in group]
            if all(roofs):
                legend["roof"], = axis.plot(x, roofs, color=INK, linestyle=(0, (4, 3)), linewidth=1, alpha=0.6)
            for side, colour in SIDES.items():
                times = [r["seconds"] if side == "flaggems" else r["peers"].get(side, {}).get("seconds")
                         for r in group]
                points = [(a, w / t / 1e9) for a, w, t in zip(x, work, times) if t]
                if points:
                    ours = side == "flaggems"
                    legend[side], = axis.plot(*zip(*points), color=colour, linewidth=2.2 if ours else 1.2,
                                              marker="o", markersize=4 if ours else 2.5, zorder=3 if ours else 2)
            rates_over_sizes(axis)
            axis.set_title(f"{title}, {n} thread{'s' if n > 1 else ''}", fontsize=8.5, loc="left")
            axis.set_ylabel("GFLOP/s" if computed else "GB/s")
            axis.set_xlabel("bytes of the operands")
    order = [name for name in (*SIDES, "roof") if name in legend]
    save_chart(figure, legend, order, columns, path)
    plt.close(figure)
    return True


# ---- docs/performance.md

BEGIN, END = "<!-- results: made by bench/compare/run.py -->", "<!-- end of results -->"


def section(name, result, charts):
    """The part of the page about one machine."""
    libraries = ", ".join(f"{k} {v.split(',')[0].replace(k + ' ', '')}" for k, v in result["libraries"].items())
    caches = ", ".join(size_text(c) for c in result["caches"] if c)
    lines = [f"### {name}", "",
             f"{result['processor']}, {result['processors']} processors, level `{result['level']}`, caches {caches}; "
             f"{result['date'][:10]}, {result['compiler']} with `{result['flags']}`, commit `{result['commit'][:9]}`. "
             f"Peers: {libraries}."]
    for part in result.get("earlier", []):
        lines.append(f"From an earlier run ({part['date'][:10]}, commit `{part['commit'][:9]}`): "
                     f"{', '.join(part['families'])}.")
    if result["missing"]:
        missing = "; ".join(f"{k} ({v})" for k, v in result["missing"].items())
        lines.append(f"Missing: {missing}.")
    if max(result["load_before"], result["load_after"]) > 0.5 * result["processors"] + 2:
        lines.append(f"**The machine was not quiet** (load {result['load_before']:.1f} before, "
                     f"{result['load_after']:.1f} after): rows of several threads are rough.")
    if result["quick"]:
        lines.append("A quick run: few sizes, few repeats.")
    lines += ["", "| family | threads | L1 | L2 | L3 | DRAM | all | by best times | rows | slower | of roof | in DRAM |",
              "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for s in summary_rows(result):
        lines.append("| " + " | ".join(str(s[k]) for k in ("family", "threads", *CLASSES, "all", "best", "rows",
                                                           "slower", "share", "memory")) + " |")
    calls = small_calls(result)
    if calls:
        lines += ["", *calls]
    scaled = scaling_lines(result)
    if scaled:
        lines += ["", "Scaling:", "", *[f"- {line}" for line in scaled]]
    if result["errors"]:
        lines += ["", "Not compared: " + "; ".join(f"{e.get('family', '')} {e.get('op', '')}: {e['error'][:80]}"
                                                   for e in result["errors"]) + "."]
    slow = sorted((r for r in result["rows"] if r["family"] != "small" and ratio(r) and ratio(r) < 0.9),
                  key=ratio)[:20]
    if slow:
        lines += ["", "Where the best peer is furthest ahead, small calls aside:", "",
                  "| operator | size | type | threads | in | ratio | peer | of roof |", "|---|---|---|---|---|---|---|---|"]
        for r in slow:
            best, share = best_peer(r), r.get("share")
            lines.append(f"| {r['op']} | {r['shape']} | {r['dtype']} | {r['threads']} | {r['class']} | "
                         f"{ratio(r):.2f} | {best[0]}{' (' + best[2] + ')' if best[2] else ''} | "
                         f"{'' if share is None else format(share, '.0%')} |")
    lines.append("")
    lines += [f"![{family} on {name}](charts/{file})\n" for family, file in charts]
    return "\n".join(lines)


def write_all(root):
    """Charts of every result (those there are stay without matplotlib), and the page's part about them."""
    sections = []
    drawing = importlib.util.find_spec("matplotlib") is not None
    if not drawing:
        print("no matplotlib: the charts stay as they are")
    for path in sorted((root / "bench" / "results").glob("compare-*.json")):
        name = path.stem.removeprefix("compare-")
        result = json.loads(path.read_text(encoding="utf-8"))
        charts = []
        for family in families(result):
            rows = [r for r in result["rows"] if r["family"] == family]
            file = f"{name}-{family}.svg"
            drawn = root / "docs" / "charts" / file
            if chart(family, rows, drawn) if drawing else drawn.exists():
                charts.append((family, file))
        sections.append(section(name, result, charts))
    page = root / "docs" / "performance.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + BEGIN + "\n\n" + "\n".join(sections) + "\n" + END + after, encoding="utf-8")
