#!/usr/bin/env python3
"""The report on the bundled example names its slow process and its share.

The example says itself, at its end, what CPU time each of its two processes
used. The loader is the slow one by construction.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SONDE = os.environ.get("SONDE", str(ROOT / "build/src/sonde"))
BUSY = 0.25  # cores
POINTS = 0.03


def has(verb):
    """`sonde help` lists the verb."""
    text = subprocess.run([SONDE, "help"], capture_output=True, text=True).stdout
    return re.search(rf"^  {verb} ", text, re.M) is not None


def truth(output):
    """CPU seconds by process name, as the program itself measured them."""
    seconds = dict(re.findall(r"^(\w+): .*cpu_s=([0-9.]+)$", output, re.M))
    return {name: float(value) for name, value in seconds.items()}


def cpu_share(report, name):
    """The part of all CPU time in `report` used by the processes `name`."""
    cpu = [(p["name"], p["cpu_ns"]) for p in report["processes"]
           if p.get("cpu_ns") is not None]
    return sum(ns for n, ns in cpu if n == name) / sum(ns for _, ns in cpu)


def expect(name, good, why=""):
    print(f"ok demo/{name}" if good else f"FAIL demo/{name} {why}")


def record(*command):
    """The finished run of an example, and its report."""
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "demo.sonde")
        done = subprocess.run(
            [SONDE, "run", "-o", trace, "--", *map(str, command)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=120)
        said = subprocess.run([SONDE, "report", "--json", trace],
                              capture_output=True, text=True, timeout=60)
    return done, json.loads(said.stdout)


def others(report):
    """Cores that other programs used."""
    return report["machine"]["other_cores"] or 0


def record_quietly(*command):
    """record(), again where other programs use the cores that should idle."""
    for _ in range(3):
        done, report = record(*command)
        if others(report) < BUSY:
            break
        print(f"other programs used {others(report):.2f} cores", flush=True)
        time.sleep(5)
    return done, report


def annotated():
    """The program that annotates itself: its slow stage, with its share."""
    train = pathlib.Path(SONDE).parent.parent / "examples/demo_train"
    done, report = record_quietly(train, "3")
    expect("the_annotated_example_ends_well", done.returncode == 0,
           f"exit {done.returncode}")
    slices = {s["name"]: s for s in report["slices"]}
    expect("every_stage_is_there",
           {n: slices[n]["count"] for n in slices} ==
           {"step": 300, "read": 300, "augment": 300, "compute": 300, "save": 30},
           str({n: slices[n]["count"] for n in slices}))
    # 6 of 6 + 1 + 2.5 + 0.5 milliseconds a step, on average.
    share = slices.get("augment", {"share": 0})["share"]
    expect("the_slow_stage_comes_first", report["slices"][0]["name"] == "augment",
           report["slices"][0]["name"])
    # Its steps take so much of a core; how long they wait for one is chance.
    allowed = POINTS if others(report) < BUSY else 0.1
    expect("its_share_is_right", abs(share - 0.6) <= allowed, f"{share:.3f}")
    expect("its_counter_is_there",
           [(c["name"], c["values"]) for c in report["counters"]] == [("loss", 300)],
           str(report["counters"]))
    # All but what a machine cost that did not let sonde run for a while.
    lost = [one for one in report["losses"] if one["reason"] != "stopped"]
    expect("nothing_is_lost", not lost, str(lost))
    if others(report) < BUSY:
        finding = json.dumps(report["findings"][:1])
        expect("the_finding_names_the_slow_stage",
               "one_core_bound" in finding and "`augment`" in finding, finding[:300])


def main():
    for verb in ("run", "report"):
        if not has(verb):
            print(f"skip demo `sonde {verb}` is not in this build")
            return
    # Idle cores are part of the finding.
    done, report = record_quietly(ROOT / "examples/pipeline/run.sh")
    expect("the_example_ends_well", done.returncode == 0,
           f"exit {done.returncode}")
    own = truth(done.stdout)
    expect("the_example_tells_its_times", set(own) == {"loader", "compute"},
           done.stdout[-300:])
    own_share = own["loader"] / sum(own.values())
    expect("the_loader_is_slow_by_construction", own_share >= 0.85,
           f"its share is {own_share:.3f}")

    findings = report["findings"]
    first = findings[0] if findings else {}
    if others(report) >= BUSY:
        # Never quiet: then the right answer is that it was not alone, unless there
        # was a core for the loader and more.
        idle = len(os.sched_getaffinity(0)) - 1 - others(report)
        expect("a_busy_machine_is_said", "other programs" in report["verdict"]
               or idle >= BUSY and "loader.py" in report["verdict"], report["verdict"])
    else:
        expect("the_first_finding_is_one_core_bound",
               first.get("rule") == "one_core_bound", json.dumps(first)[:300])
        expect("the_finding_names_the_loader", "loader.py" in json.dumps(first),
               json.dumps(first)[:300])
        expect("the_verdict_names_the_loader", "loader.py" in report["verdict"],
               report["verdict"])
    share = cpu_share(report, "loader.py")
    expect("the_share_is_the_programs_own", abs(share - own_share) <= POINTS,
           f"report {share:.3f}, program {own_share:.3f}")
    annotated()


if __name__ == "__main__":
    sys.exit(main())
