#!/usr/bin/env python3
"""What stacks cost, how many are whole, and how right they are.

usage: stack_bench.py SONDE [--quick] [BAR...]

The programs are in tests/bench/stack. Each tells its own CPU time, and how it spent
it. What is compared is measured in turns, so that a noisy moment hits all of it.

stack_cost_ratio        CPU time that a sample by bpf takes from the program, in that
                        of `perf record` without call chains; the least of 20 runs
stack_collector_us      CPU time of sonde for a sample of a native program, the worse
                        of bpf and perf: what a longer run adds
stack_fixed_s           CPU time of sonde for the stacks of a short Python program
stack_rss_mb            most memory of sonde with 100 000 different stacks
target_pause_points     by how much the share of time that the program stood still for
                        over 100 us, though it did not wait for a core, is more with
                        sonde; the worse of bpf and perf
stack_complete          share of samples by bpf whose stack is not approximate, in the
                        worst program, beside a neighbour that uses a core
stack_complete_perf     the same by perf, as an ordinary user
stack_lost              share of samples that were lost in the worst of these runs
share_error_points      by how much the share of a function is wrong. Each way has its
                        limit, or three standard deviations; the value is that nearest
                        to its limit, or farthest above
pyspy_agreement_points  by how much shares differ from those of py-spy
pyspy_cpu_ratio         CPU time of sonde in that of py-spy
stack_vs_perf_dwarf     CPU time of `sonde run` and `sonde export` in that of `perf
                        record --call-graph dwarf` and `perf script`
flamegraph_vs_perf_script   time of `sonde export --to flame` in that of `perf script`
wait_error_points       by how much the share of a kind of wait is wrong, with waits of
                        2 ms and of 2 s
wait_cost_pct           share of a core for the stacks of 256 threads that sleep

A bar that cannot be measured here is skipped by its name, with the reason. With
--quick nothing is judged: "ok" only says that the bar was measured.
"""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from jobs_bench import neighbour
from stack_rig import (HZ, NOBODY, Bench, NotHere, cpu, lost, parts, perf, samples,
                       sampling, shares, skip, spent)

PYSPY = "0.4.3"
SHARE_LIMITS = {"bpf": 2, "perf": 4, "proc": 6}  # points


def cost_ratio(bench):
    bench.need("bpf")
    data = bench.path("perf.data")
    command = [bench.work, bench.rounds(0.5 if bench.quick else 3.2)]
    times, counts = {"bare": [], "sonde": [], "perf": []}, {}
    for _ in range(2 if bench.quick else 20):
        times["bare"].append(cpu(spent(command)[0]))
        output, _ = perf("record", "-q", "-F", str(HZ), "-e", "cpu-clock", "-o", data,
                         "--", *command)
        times["perf"].append(cpu(output))
        recorded = bench.record(command, "bpf")
        times["sonde"].append(cpu(recorded.output))
        counts["sonde"] = samples(recorded.report)
    lines, _ = perf("script", "-F", "tid", "-i", data)
    counts["perf"] = len(lines.splitlines())
    least = {name: min(all_of_it) for name, all_of_it in times.items()}
    each = {name: (least[name] - least["bare"]) / counts[name] * 1e6 for name in counts}
    # What bare runs say of themselves: as much may be chance.
    bare = times["bare"]
    chance = abs(min(bare[::2]) - min(bare[1::2])) / counts["perf"] * 1e6
    if each["perf"] <= 0 and not bench.quick:
        raise NotHere(f"too noisy: perf seems to take {each['perf']:.2f} us a sample")
    ratio = each["sonde"] / (each["perf"] or 1)
    bench.bar("stack_cost_ratio", ratio, "ratio", 1.6, ratio <= 1.6,
              peers={"perf_us": round(each["perf"], 2)},
              sonde_us=round(each["sonde"], 2), chance_us=round(chance, 2),
              runs=len(bare), samples=counts,
              least_s={name: round(value, 4) for name, value in least.items()})


def collector_us(bench):
    lengths = (0.3, 0.8) if bench.quick else (1, 5)
    programs = {"native": lambda s: [bench.work, bench.rounds(s)],
                "python": lambda s: bench.script("parts.py", "flat", s)}
    wanted = [("native", "bpf"), ("native", "perf"), ("python", "perf"),
              ("python", "proc")]
    wanted = [(program, by) for program, by in wanted if by in bench.ways()]
    commands = {(p, s): programs[p](s) for p in programs for s in lengths}
    runs = {}
    for _ in range(1 if bench.quick else 3):
        for (program, seconds), command in commands.items():
            for by in [None] + [by for p, by in wanted if p == program]:
                recorded = bench.record(command, by, HZ if by else "off")
                count = samples(recorded.report) if by else 0
                runs.setdefault((program, seconds, by), []).append(
                    (recorded.overhead_s, count))
    each = {}
    for program, by in wanted:
        def added(seconds):
            on, off = min(runs[program, seconds, by]), min(runs[program, seconds, None])
            return on[0] - off[0], on[1]
        (short, few), (long, many) = map(added, lengths)
        each[f"{program} {by}"] = round((long - short) / max(many - few, 1) * 1e6, 2)
    judged = [value for name, value in each.items() if name.startswith("native")]
    if not judged:
        raise NotHere("neither bpf nor perf works here")
    bench.bar("stack_collector_us", max(judged), "us", 5, max(judged) <= 5, us=each)


def fixed_s(bench):
    busy = ("import time\nwhile time.process_time() < 0.5: sum(range(1000))\n"
            "print('cpu', time.process_time())")
    command = [bench.python, "-c", busy]
    runs = {199: [], "off": []}
    for _ in range(2 if bench.quick else 10):
        for hz, found in runs.items():
            recorded = bench.record(command, None, hz)
            found.append(recorded.overhead_s)
            by = sampling(recorded.report)["by"] if hz == 199 else by
    median = {hz: statistics.median(found) for hz, found in runs.items()}
    added = median[199] - median["off"]
    bench.bar("stack_fixed_s", added, "s", 0.08, added <= 0.08, by=by,
              with_stacks_s=round(median[199], 4), without_s=round(median["off"], 4))


def rss_mb(bench):
    seconds, wanted = (0.5, 0) if bench.quick else (55, 100_000)
    before = [bench.sonde, "run", "--quiet", "--stacks", "1000", "-o",
              bench.path("many.sonde"), "--"]
    child = subprocess.Popen([*before, bench.built("many.c"), str(seconds)],
                             stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise OSError(f"many: status {child.returncode}")
    rows, _ = spent([bench.sonde, "query", "--json", bench.path("many.sonde"),
                     "SELECT count(DISTINCT stack_id) FROM sample"])
    count = json.loads(rows)["rows"][0][0]
    value = usage.ru_maxrss / 1024
    bench.bar("stack_rss_mb", value, "MB", 64, value <= 64 and count >= wanted,
              stacks=count)


def pause_points(bench):
    command = [bench.built("pauses.c"), "0.3" if bench.quick else "2"]

    def paused(output):
        return 100 * float(re.search(r"^paused (\S+)$", output, re.M).group(1))

    points, bare = {}, []
    for by in bench.ways():
        if by == "proc":
            continue  # reads no native program
        added = []
        for _ in range(2 if bench.quick else 20):
            without = paused(spent(command)[0])
            added.append(paused(bench.record(command, by, 199).output) - without)
            bare.append(without)
        points[by] = round(statistics.median(added), 3)
    if not points:
        raise NotHere("neither bpf nor perf works here")
    worst = max(points.values())
    bench.bar("target_pause_points", worst, "points", 0.5, worst <= 0.5, points=points,
              without=round(statistics.median(bare), 3))


def complete(bench):
    seconds = 0.5 if bench.quick else 5
    dropped = {}
    for by, name, limit, before in (
            ("bpf", "stack_complete", 0.98, []),
            ("perf", "stack_complete_perf", 0.95, NOBODY if os.getuid() == 0 else [])):
        try:
            bench.need(by, before)
        except NotHere as why:
            skip(name, why)
            continue
        found, missing = {}, {}
        for program in ("c++", "numpy", *([] if bench.quick else ["torch"])):
            try:
                if program == "c++":
                    command = [bench.calls, str(seconds)]
                else:
                    python = bench.importing(program, before)
                    _, *words = bench.script("arrays.py", program, seconds)
                    command = [*python, *words]
            except NotHere as why:
                missing[program] = str(why)
                skip(f"{name} {program}", why)
                continue
            with neighbour():
                report = bench.record(command, by, 199, before).report
            found[program] = (1 - sampling(report)["approximate"]
                              / max(sampling(report)["samples"], 1))
            dropped[f"{program} {by}"] = lost(report) / max(samples(report), 1)
        worst = min(found.values())
        bench.bar(name, worst, "share", limit, worst >= limit, missing=missing,
                  shares={p: round(value, 4) for p, value in found.items()})
    if not dropped:
        raise NotHere("neither bpf nor perf works here")
    worst = max(dropped.values())
    bench.bar("stack_lost", worst, "share", 0.01, worst <= 0.01,
              shares={where: round(value, 4) for where, value in dropped.items()})


def own_shares(report, names):
    own = dict.fromkeys(names, 0)
    for function in report["functions"]:
        name = function["function"].split(".")[-1]
        if name in own:
            own[name] += function["own_share"]
    return shares(own)


def share_error(bench):
    seconds = 0.3 if bench.quick else 5
    kinds = ("mixed",) if bench.quick else ("flat", "nested", "recursive", "mixed")
    programs = {kind: bench.script("parts.py", kind, seconds, bench.library)
                for kind in kinds}
    programs["native"] = [bench.parts, str(seconds)]
    found = []
    for program, command in programs.items():
        for by in bench.ways():
            if program == "native" and by == "proc":
                continue  # has no native functions
            recorded = bench.record(command, by)
            count = max(sampling(recorded.report)["samples"], 1)
            truth = parts(recorded.output)
            told = own_shares(recorded.report, truth)
            name = max(truth, key=lambda n: abs(told[n] - truth[n]))
            error = 100 * abs(told[name] - truth[name])
            sigma = 100 * (truth[name] * (1 - truth[name]) / count) ** 0.5
            limit = max(SHARE_LIMITS[by], 3 * sigma)
            found.append({"by": by, "program": program, "function": name,
                          "points": round(error, 2), "limit": round(limit, 2),
                          "samples": count})
    worst = max(found, key=lambda one: one["points"] / one["limit"])
    bench.bar("share_error_points", worst["points"], "points", worst["limit"],
              worst["points"] <= worst["limit"], worst=worst, runs=found)


def find_pyspy(bench):
    found = shutil.which("py-spy") or bench.env.folder / "bin/py-spy"
    if not os.path.exists(found):
        raise NotHere(f"no py-spy {PYSPY} here")
    version = spent([str(found), "--version"])[0].split()[-1]
    if version != PYSPY:
        raise NotHere(f"py-spy is {version}, not {PYSPY}")
    return str(found)


def pyspy(bench):
    peer, raw = find_pyspy(bench), bench.path("pyspy.txt")
    command = bench.script("parts.py", "flat", 0.5 if bench.quick else 6)
    errors, costs, by = [], {"sonde": [], "py-spy": []}, None
    for _ in range(1 if bench.quick else 3):
        output, used = spent([peer, "record", "-r", "1000", "-f", "raw", "-o", raw,
                              "--", *command])
        costs["py-spy"].append(used - cpu(output))
        theirs = dict.fromkeys(parts(output), 0)
        for line in pathlib.Path(raw).read_text().splitlines():
            stack, _, count = line.rpartition(" ")
            name = stack.split(";")[-1].partition(" (")[0]
            if name in theirs:
                theirs[name] += int(count)
        theirs = shares(theirs)
        recorded = bench.record(command, None, 1000)
        costs["sonde"].append(recorded.collector_s)
        by = sampling(recorded.report)["by"]
        ours = own_shares(recorded.report, theirs)
        errors.append(100 * max(abs(ours[n] - theirs[n]) for n in theirs))
    median = {name: statistics.median(all_of_it) for name, all_of_it in costs.items()}
    ratio = median["sonde"] / median["py-spy"]
    bench.bar("pyspy_agreement_points", max(errors), "points", 2, max(errors) <= 2,
              by=by, runs=[round(error, 2) for error in errors])
    bench.bar("pyspy_cpu_ratio", ratio, "ratio", 0.2, ratio <= 0.2, by=by,
              peers={"pyspy_s": round(median["py-spy"], 3)},
              sonde_s=round(median["sonde"], 3))


def perf_dwarf(bench):
    data, flame = bench.path("perf.data"), bench.path("flame.svg")
    command = [bench.calls, "1" if bench.quick else "21"]
    output, used = perf("record", "-q", "-F", str(HZ), "-e", "cpu-clock",
                        "--call-graph", "dwarf", "-o", data, "--", *command)
    record_s = used - cpu(output)
    recorded = bench.record(command)
    count = sampling(recorded.report)["samples"]
    wall, total = {}, {}
    for _ in range(1 if bench.quick else 3):
        begin = time.perf_counter()
        # Without inlined functions, for which it asks addr2line.
        _, script_s = perf("script", "--no-inline", "-i", data,
                           stdout=subprocess.DEVNULL)
        middle = time.perf_counter()
        _, export_s = spent([bench.sonde, "export", bench.path("t.sonde"), "--to",
                             "flame", "--force", "-o", flame])
        end = time.perf_counter()
        for name, seconds, both in (("perf", middle - begin, record_s + script_s),
                                    ("sonde", end - middle,
                                     recorded.collector_s + export_s)):
            wall[name] = min(wall.get(name, seconds), seconds)
            total[name] = min(total.get(name, both), both)
    lines, _ = perf("script", "-F", "tid", "-i", data)
    more = {"by": sampling(recorded.report)["by"],
            "samples": {"sonde": count, "perf": len(lines.split())}}
    ratio = total["sonde"] / total["perf"]
    bench.bar("stack_vs_perf_dwarf", ratio, "ratio", 0.5, ratio <= 0.5,
              peers={"perf_s": round(total["perf"], 3)},
              sonde_s=round(total["sonde"], 3), **more)
    ratio = wall["sonde"] / wall["perf"]
    bench.bar("flamegraph_vs_perf_script", ratio, "ratio", 0.1,
              ratio <= 0.1 and count >= 20000,
              peers={"perf_script_s": round(wall["perf"], 3)},
              sonde_s=round(wall["sonde"], 4), **more)


def wait_error(bench):
    lengths = ((0.002, 60),) if bench.quick else ((0.002, 1000), (2, 2))
    found = []
    for by in bench.ways():
        for seconds, rounds in lengths:
            recorded = bench.record(bench.script("waits.py", seconds, rounds), by, 199)
            truth = parts(recorded.output)
            told, other = dict.fromkeys(truth, 0), {}
            for wait in recorded.report["waits"]:
                name = (wait["own"] or {}).get("function") or ""
                kind = name.removeprefix("on_")
                if kind in told and wait["kind"] == kind:
                    told[kind] += wait["wait_ns"]
                elif kind in told:
                    also = f"{kind} as {wait['kind']}"
                    other[also] = other.get(also, 0) + wait["wait_ns"]
            told = {name: value / (sum(told.values()) + sum(other.values()) or 1)
                    for name, value in told.items()}
            kind = max(truth, key=lambda k: abs(told[k] - truth[k]))
            found.append({"by": by, "seconds": seconds, "kind": kind,
                          "points": round(100 * abs(told[kind] - truth[kind]), 2),
                          "looks": sum(w["samples"] for w in recorded.report["waits"]),
                          "truth": {k: round(v, 3) for k, v in truth.items()},
                          "told": {k: round(v, 3) for k, v in told.items()},
                          "other_s": {k: round(v / 1e9, 3) for k, v in other.items()}})
    worst = max(found, key=lambda one: one["points"])
    bench.bar("wait_error_points", worst["points"], "points", 5,
              worst["points"] <= 5, runs=found)


def wait_cost(bench):
    lengths = (0.3, 0.8) if bench.quick else (3, 15)
    costs, by = {}, None
    for _ in range(1 if bench.quick else 2):
        for seconds in lengths:
            command = bench.script("waits.py", "sleepers", 256, seconds)
            for hz in (199, "off"):
                recorded = bench.record(command, None, hz)
                costs.setdefault((hz, seconds), []).append(recorded.overhead_s)
                by = sampling(recorded.report)["by"] if hz == 199 else by
    short, long = lengths
    pct = {hz: 100 * (min(costs[hz, long]) - min(costs[hz, short])) / (long - short)
           for hz in (199, "off")}
    value = pct[199] - pct["off"]
    bench.bar("wait_cost_pct", value, "% of a core", 1, value <= 1, by=by,
              with_stacks_pct=round(pct[199], 3), without_pct=round(pct["off"], 3))


BARS = {
    ("stack_cost_ratio",): cost_ratio,
    ("stack_collector_us",): collector_us,
    ("stack_fixed_s",): fixed_s,
    ("stack_rss_mb",): rss_mb,
    ("target_pause_points",): pause_points,
    ("stack_complete", "stack_complete_perf", "stack_lost"): complete,
    ("share_error_points",): share_error,
    ("pyspy_agreement_points", "pyspy_cpu_ratio"): pyspy,
    ("stack_vs_perf_dwarf", "flamegraph_vs_perf_script"): perf_dwarf,
    ("wait_error_points",): wait_error,
    ("wait_cost_pct",): wait_cost,
}


def main(sonde, quick, names):
    unknown = set(names) - {name for group in BARS for name in group}
    if unknown:
        sys.exit(f"stack_bench: no bar {' '.join(sorted(unknown))}")
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)  # another user records there
        bench = Bench(sonde, quick, folder)
        for group, measure in BARS.items():
            if names and not set(names) & set(group):
                continue
            try:
                measure(bench)
            except NotHere as why:
                skip(" ".join(group), why)
            except OSError as error:
                print(f"failed {' '.join(group)} {error}", file=sys.stderr, flush=True)
                status = 2
    return status


if __name__ == "__main__":
    words = sys.argv[2:]
    if len(sys.argv) < 2 or {w for w in words if w.startswith("-")} - {"--quick"}:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1]), "--quick" in words,
                  [w for w in words if not w.startswith("-")]))
