# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What run.py shows of its results: the table, geometric means, charts, and the part of docs/performance.md
between the markers."""
import json
import math

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
    """Of each family and number of threads: geometric means of the ratio, in each class and in all; rows, rows
    below 1, the share of the roof, in all and in memory."""
    for family in families(result):
        for threads in sorted({r["threads"] for r in result["rows"] if r["family"] == family}):
            rows = [r for r in result["rows"] if r["family"] == family and r["threads"] == threads]
            ratios = [ratio(r) for r in rows]
            yield {"family": family, "threads": threads,
                   **{c: cell([ratio(r) for r in rows if r["class"] == c]) for c in CLASSES},
                   "all": cell(ratios), "best": cell([by_best_times(r) for r in rows]),
                   "rows": len(rows), "slower": sum(1 for q in ratios if q and q < 0.98),
                   "share": cell([r.get("share") for r in rows], ".0%"),
                   "memory": cell([r.get("share") for r in rows if r["class"] == "DRAM"], ".0%")}


def summary(result):
    lines = ["geometric means of ours over the best peer (their time / ours)",
             f"{'family':12} {'threads':>7} " + " ".join(f"{c:>6}" for c in CLASSES) +
             f" {'all':>6} {'(best)':>6} {'rows':>5} {'slower':>6} {'of roof':>7} {'in DRAM':>7}"]
    for s in summary_rows(result):
        lines.append(f"{s['family']:12} {s['threads']:7} " + " ".join(f"{s[c]:>6}" for c in CLASSES) +
                     f" {s['all']:>6} {s['best']:>6} {s['rows']:5} {s['slower']:6} {s['share']:>7} {s['memory']:>7}")
    for name, why in result["missing"].items():
        lines.append(f"missing peer: {name} ({why})")
    return "\n".join(lines)


def save(result, path):
    """One row a line, so that changes can be read."""
    head = {k: v for k, v in result.items() if k != "rows"}
    rows = ",\n".join(json.dumps(r) for r in result["rows"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + rows + "\n]}\n", encoding="ascii")


def write_all(root):
    pass
