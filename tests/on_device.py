#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the typed suites of devices and operators on a device of this machine, and under sanitizers.

    tests/on_device.py --name h200 --tools memcheck racecheck initcheck
    tests/on_device.py --device my_chip --header <folder>/my_chip.hpp

Many processes at once, each with a share of the tests and one thread. --name writes what came out to
bench/results/tests-NAME.json, and where operators ran to support-NAME.json beside it, from which
tools/docs/support_table.py takes its marks. Programs may be built where there is no such device and
carried to one that has it: --prepare there, and the same --build in both places. Exit status 1: a
test failed, a sanitizer found something, a share did not end or there was no time to begin it.
"""
import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What compute-sanitizer's tools say at the end.
FOUND = re.compile(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)")
REPORT = re.compile(r"^=+ ((?!COMPUTE-SANITIZER).*\S)", re.MULTILINE)
# And of a share whose tests have nothing to do with a device.
NOTHING_RAN = "terminated before first instrumented API call"


def build(args):
    header = args.header or ROOT / "include/flaggems/vendors/cuda.hpp"
    settings = {"DEVICE": args.device, "DEVICE_HEADER": header.resolve(), "DEVICE_ONLY": "ON",
                "MAX_ISA": "0", "SIMULATED_CUDA": "OFF", "DRIVERS": "OFF", "AREAS": ";".join(args.areas)}
    subprocess.run(["cmake", "--preset", "test", "-B", args.build, "-DFLAGGEMS_BUILD_EXAMPLES=OFF",
                    "-DCMAKE_CXX_FLAGS=-DFLAGGEMS_FORCE_INLINE=0",
                    *(f"-DFLAGGEMS_TEST_{key}={value}" for key, value in settings.items()),
                    *(f"-D{define}" for define in args.define)], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", args.build, "-j", str(args.jobs), "--target",
                    *(f"flaggems_test_{area}" for area in args.areas)], check=True)


def command_of(args):
    """What others write to run the same: without where programs were built and results put."""
    words = ["tests/on_device.py", "--device", args.device, "--areas", *args.areas, "--filter", args.filter,
             "--seconds", f"{args.seconds:g}", "--name", args.name]
    if args.header:
        words += ["--header", args.header.name]
    return shlex.join(words + (["--tools", *args.tools] if args.tools else []))


class share:
    """One process of `count`, what it printed and what it found."""

    def __init__(self, args, program, tool, index, count, folder):
        self.tool, self.program = tool, program
        self.result = folder / f"{program}_{tool}_{index}.json"
        self.support = folder / f"support_{program}_{tool}_{index}.json"
        self.log = folder / f"{program}_{tool}_{index}.log"
        under, settings = [], {"GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(index),
                               "FLAGGEMS_SUPPORT_LOG": str(self.support)}
        if tool != "tests":
            under = ["compute-sanitizer", "--tool", tool]
            settings["FLAGGEMS_TEST_NO_FORKS"] = "1"
            if program == "device" and tool == "memcheck":  # its tests make calls that fail
                under += ["--report-api-errors", "no"]
        self.command = [*under, args.build / "tests" / f"flaggems_test_{program}", "--gtest_brief=1",
                        f"--gtest_output=json:{self.result}", f"--gtest_filter={args.filter}"]
        self.environment = {**os.environ, **settings}
        self.end, self.output, self.status = args.end, "", None

    def run(self):
        left = self.end - time.monotonic()
        if left > 0:
            with self.log.open("wb") as log:
                process = subprocess.Popen(self.command, env=self.environment, stdout=log,
                                           stderr=subprocess.STDOUT)
                try:
                    self.status = process.wait(left)
                except subprocess.TimeoutExpired:
                    self.end_all()
                    process.wait()
            self.output = self.log.read_text(errors="replace")
        return self

    def end_all(self):
        """Ends what it started: a sanitizer's program outlives the sanitizer, in a group of its own."""
        mark = str(self.support).encode()
        for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in environment.read_bytes():
                    os.kill(int(environment.parent.name), signal.SIGKILL)
            except OSError:  # it ended meanwhile, or is another user's
                pass

    def add_to(self, total):
        total["shares"] += 1
        total["ended"] += self.status is not None
        if self.result.exists() and self.status is not None:
            for suite in json.loads(self.result.read_text())["testsuites"]:
                for test in suite["testsuite"]:
                    ran = test["status"] == "RUN" and test["result"] != "SKIPPED"
                    total["passed"] += ran and "failures" not in test
                    total["skipped"] += test["result"] == "SKIPPED"
                    if "failures" in test:
                        # Without the folder in which it was built.
                        what = re.sub(r"\S*/(?=tests/)", "", test["failures"][0]["failure"])
                        total["failed"].append(f"{suite['name']}.{test['name']}: {what[:300]}")
        elif self.status is not None:  # it crashed, or never began
            total["failed"].append(f"exit status {self.status}: {self.output[-300:]}")
        found = FOUND.findall(self.output)
        if self.tool != "tests" and self.status is not None:
            total["watched"] += bool(found)
            count = sum(int(n or m) for n, m in found)
            total["found"] += count
            if count > 0 and len(total["reports"]) < 8:
                total["reports"].append(REPORT.findall(self.output)[:12])
            if not found and NOTHING_RAN not in self.output:
                total["failed"].append(f"no summary: {self.output[-300:]}")


def merged(supports):
    ran = collections.defaultdict(set)
    for file in supports:
        for op, places in (json.loads(file.read_text()) if file.exists() else {}).items():
            ran[op].update(p for p in places if not p.startswith("host@"))
    return {op: sorted(places) for op, places in sorted(ran.items()) if places}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="flaggems::cuda", help="a device type")
    parser.add_argument("--header", type=pathlib.Path, help="the header that has it")
    parser.add_argument("--areas", nargs="+", default=["device", "launch", "ops"], help="folders of tests/")
    parser.add_argument("--tools", nargs="+", default=[], help="of compute-sanitizer, after the tests alone")
    parser.add_argument("--filter", default="*", help="of tests, as --gtest_filter")
    parser.add_argument("--name", help="of the machine: writes bench/results/tests-NAME.json")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--seconds", type=float, default=86400, help="all of it, building aside")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "on_device")
    parser.add_argument("--prepare", action="store_true", help="only build")
    parser.add_argument("--no-build", action="store_true", help="what --prepare built")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE", help="for CMake")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    if not args.no_build:
        build(args)
    if args.prepare:
        return 0

    args.end = time.monotonic() + args.seconds
    totals, shares = {}, []
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for tool in ["tests", *args.tools]:
            for program in args.areas:
                count = args.jobs if program == "ops" else 1
                if tool != "tests":  # where some tests take much longer than others
                    count *= 4
                shares += [share(args, program, tool, k, count, pathlib.Path(folder))
                           for k in range(count)]
        for done in pool.map(share.run, shares):
            total = totals.setdefault(done.program, {}).setdefault(
                done.tool, {"passed": 0, "skipped": 0, "failed": [], "found": 0, "reports": [], "watched": 0,
                            "shares": 0, "ended": 0})
            done.add_to(total)
        support = merged(s.support for s in shares)
    for program, tools in totals.items():
        for tool, total in tools.items():
            if tool != "tests" and total["ended"] and not total["watched"]:
                total["failed"].append("no summary of any share")
            print(f"{program} {tool}: {total['passed']} passed, {total['skipped']} skipped, "
                  f"{len(total['failed'])} failed, {total['ended']} of {total['shares']} shares ended"
                  + (f", {total['found']} found" if tool != "tests" else ""))
            print("".join(f"  {name}\n" for name in total["failed"]), end="")
            print("".join(f"  {line}\n" for report in total["reports"] for line in report), end="")
    if args.name:
        chips = sorted({p.partition("@")[2] for places in support.values() for p in places if "@" in p})
        summary = {"date": str(datetime.date.today()), "command": command_of(args), "device": chips,
                   "programs": totals}
        (args.out / f"tests-{args.name}.json").write_text(json.dumps(summary, indent=1) + "\n")
        (args.out / f"support-{args.name}.json").write_text(json.dumps(support, indent=1) + "\n")
    of = [t for tools in totals.values() for t in tools.values()]
    clean = all(not t["failed"] and not t["found"] and t["ended"] == t["shares"] for t in of)
    return 0 if clean and any(t["passed"] for t in of) else 1


if __name__ == "__main__":
    sys.exit(main())
