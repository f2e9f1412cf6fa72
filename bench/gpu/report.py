# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""What run.py shows of its results: tables, charts, and the part of docs/performance.md between the markers."""
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "compare"))

HEAD = (f"{'operator':20} {'shape':34} {'type':4} {'us':>9} {'GB/s':>6} {'roof':>5} | {'best peer':>14} {'us':>9} "
        f"{'ratio':>6} | others")


def best_peer(line):
    found = [(p["seconds"], name) for name, p in line["peers"].items() if p["seconds"]]
    return min(found) if found else None


def ratio(line):
    """The best peer's time over ours: above 1, ours is faster."""
    best = best_peer(line)
    return best[0] / line["seconds"] if best and line["seconds"] else None


def row(line):
    best, seconds = best_peer(line), line["seconds"]
    ours = f"{'':>9} {'':>6} {'':>5}"
    if seconds:
        share = format(line["share"], ".0%") if line.get("share") else ""
        ours = f"{seconds * 1e6:9.2f} {line['bytes'] / seconds / 1e9:6.0f} {share:>5}"
    peer = f"{best[1]:>14} {best[0] * 1e6:9.2f} {format(ratio(line), '.2f') if seconds else '':>6}" if best else f"{'':31}"
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


def summary(result):
    lines = [f"{'':27} {'ratio':>6} {'>=64M':>6} {'slower':>9} {'of roof from 64 MiB: mean':>24} {'least':>6}"]
    for (op, dtype), rows in groups(result).items():
        large = [r for r in rows if r["bytes"] >= LARGE]
        shares = [r["share"] for r in large if r.get("share")]
        slower = sum(1 for r in rows if ratio(r) and ratio(r) < 0.98)
        lines.append(f"{op + ' ' + dtype:27} {cell([ratio(r) for r in rows]):>6} {cell([ratio(r) for r in large]):>6} "
                     f"{slower:4} of {len(rows):3} {cell(shares, '.0%'):>24} {format(min(shares), '.0%') if shares else '':>6}")
    wrong = [r for r in result["rows"] if r["error"]]
    lines += [f"WRONG: {r['op']} {r['shape']} {r['dtype']}: {r['error']}" for r in wrong]
    lines.append(f"{len(result['rows'])} rows, {len(wrong)} wrong, {result.get('wall_seconds')} s")
    return "\n".join(lines)


def save(result, path):
    """One row a line, so that changes can be read."""
    head = {k: v for k, v in result.items() if k != "rows"}
    rows = ",\n".join(json.dumps(r) for r in result["rows"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + rows + "\n]}\n", encoding="ascii")
