#!/usr/bin/python3
"""Accelerators, simulated: what they say is in the trace, and nothing they do
stops the recording."""

import json
import os
import subprocess
import tempfile
import time

from common import Runner, Skip, equal, true

run = Runner()
HOLD_UP = 15  # seconds by which a busy machine may be late
BUILD = os.path.dirname(os.path.dirname(run.sonde))
os.environ["LD_LIBRARY_PATH"] = os.path.join(BUILD, "tests", "sim")


def machine(files):
    """A directory that plays a machine. Values that begin with -> are links."""
    root = tempfile.mkdtemp(dir=run.dir)
    for path, content in files.items():
        whole = root + path
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        if content.startswith("->"):
            os.symlink(content[2:], whole)
        else:
            with open(whole, "w", encoding="utf-8") as file:
                file.write(content)
    return root


def record(root, seconds, script=None):
    trace = run.path("t.sonde")
    env = dict(os.environ, SONDE_DEVICE_ROOT=root)
    if script is not None:
        env["SONDE_SIM_NVML"] = run.path("script")
        with open(env["SONDE_SIM_NVML"], "w", encoding="utf-8") as file:
            file.write(script)
    began = time.monotonic()
    done = subprocess.run([run.sonde, "run", "-o", trace, "--", "sleep", str(seconds)],
                          env=env, capture_output=True, text=True, timeout=60)
    equal(f"status: {done.stderr}", done.returncode, 0)
    true(f"took {time.monotonic() - began:.1f} s",
         time.monotonic() - began < seconds + HOLD_UP)
    return trace


def query(trace, sql):
    done = subprocess.run([run.sonde, "query", "--json", trace, sql],
                          capture_output=True, text=True, timeout=60)
    equal(f"query: {done.stderr}", done.returncode, 0)
    return json.loads(done.stdout)["rows"]


def points(trace, name, device=0):
    """The moments at which a value changed, in ns, with what it was from then on."""
    return query(
        trace, "SELECT c.ts, c.value FROM counter c JOIN series s ON s.id = c.series_id "
               "JOIN device d ON d.id = s.device_id "
               f"WHERE s.name = '{name}' AND s.scope = 'device' AND d.number = {device} "
               "ORDER BY c.ts")


def values(trace, name, device=0):
    return [value for _, value in points(trace, name, device) if value is not None]


def losses(trace):
    """All but those of a machine that did not let sonde run for a while."""
    return {row[0]: row[1] for row in
            query(trace, "SELECT reason, sum(count) FROM loss WHERE reason != 'stopped' "
                         "GROUP BY reason")}


def silences(trace):
    """From and to in ns, the count and what it is of."""
    return query(trace, "SELECT from_ts, to_ts, count, detail FROM loss "
                        "WHERE reason = 'device-silent' ORDER BY from_ts")


NVIDIA = {"/dev/nvidiactl": ""}


def everything_nvml_says():
    trace = record(machine(NVIDIA), 2, """devices 2
        at 0 gpu 0 busy 95 mem_busy 40 used 8000 total 16000 clock 1500 mem_clock 800
        at 0 gpu 0 power 250.5 temp 61 throttle 36
        at 0 gpu 1 busy 3 used 100 total 16000""")
    equal("busy", set(values(trace, "gpu_busy_pct")), {95})
    equal("memory busy", set(values(trace, "gpu_mem_busy_pct")), {40})
    equal("used", set(values(trace, "gpu_mem_used_bytes")), {8000 << 20})
    equal("total", set(values(trace, "gpu_mem_total_bytes")), {16000 << 20})
    equal("clock", set(values(trace, "gpu_clock_mhz")), {1500})
    equal("power", set(values(trace, "gpu_power_w")), {250.5})
    equal("temperature", set(values(trace, "gpu_temp_c")), {61})
    equal("power and heat", set(values(trace, "gpu_throttle")), {3})
    equal("the other", set(values(trace, "gpu_busy_pct", 1)), {3})
    equal("what it does not say", values(trace, "gpu_power_w", 1), [])
    equal("its row", query(trace, "SELECT name, vendor FROM device WHERE number = 1"),
          [["Simulated GPU 1", "nvidia"]])
    equal("its label", query(trace, "SELECT DISTINCT s.label FROM series s JOIN device d "
                                    "ON d.id = s.device_id WHERE d.number = 1"),
          [["Simulated GPU 1"]])
    equal("losses", losses(trace), {})


def what_changes():
    trace = record(machine(NVIDIA), 3, "devices 1\nat 0 gpu 0 wave 0 100 0.6")
    seen = values(trace, "gpu_busy_pct")
    true(f"both levels, several times: {seen}", len(seen) >= 4 and set(seen) == {0, 100})


def values_that_cannot_be():
    trace = record(machine(NVIDIA), 3, """devices 1
        at 0 gpu 0 busy 50 used 100 total 1000 temp 50
        at 1 gpu 0 busy 4000000000 used 2000 temp 9000""")
    equal("busy", set(values(trace, "gpu_busy_pct")), {50})
    equal("used", set(values(trace, "gpu_mem_used_bytes")), {100 << 20})
    equal("temperature", set(values(trace, "gpu_temp_c")), {50})
    true(f"counted: {losses(trace)}", losses(trace)["device-refused"] >= 3)


def a_library_that(does, starts):
    def test():
        trace = record(machine(NVIDIA), 5, f"""devices 1
            at 0 gpu 0 busy 50
            at 0.5 {does}""")
        true(f"before it: {values(trace, 'gpu_busy_pct')}",
             50 in values(trace, "gpu_busy_pct"))
        silent = silences(trace)
        end = query(trace, "SELECT max(ts) FROM counter")[0][0]
        true(f"told: {silent}", sum(one[2] for one in silent) >= starts)
        # It says something between them, and is given up or hangs at the end.
        true(f"apart: {silent}",
             all(one[1] < after[0] for one, after in zip(silent, silent[1:])))
        if starts > 1:
            true(f"to the end, {end}: {silent}", abs(silent[-1][1] - end) < 1e9)
        ticks = query(trace, "SELECT count(DISTINCT c.ts) FROM counter c JOIN series s ON "
                             "s.id = c.series_id WHERE s.name LIKE 'cpu_%_ns'")
        true(f"the rest went on: {ticks}", ticks[0][0] > 5)
    return test


def a_device_that_is_lost():
    trace = record(machine(NVIDIA), 6, """devices 1
        at 0 gpu 0 busy 50
        at 1 lost
        at 3 works""")
    silent = silences(trace)
    equal("once", len(silent), 1)
    begin, end, count, detail = silent[0]
    said = points(trace, "gpu_busy_pct")
    equal("before and after", [value for _, value in said], [50, None, 50])
    # The library's clock begins when it is loaded, so only their order is known.
    (first, _), (lost, _), (again, _) = said
    true(f"when: {silent}, {said}",
         first <= begin < lost and end == again and end - begin > 1e9)
    true(f"how often: {silent}", count >= 2)
    equal("what", detail, "times that Simulated GPU 0 did not answer")
    equal("losses", set(losses(trace)), {"device-silent"})


def a_device_that_a_restart_does_not_find():
    """The other keeps its place."""
    trace = record(machine(NVIDIA), 4, f"""devices 2
        at 0 gpu 0 busy 50
        at 0 gpu 1 busy 70
        at 0.5 crash
        again {run.path("again")}
        at 0.5 works
        hidden 0 15""")
    equal("of each", [set(values(trace, "gpu_busy_pct", i)) for i in (0, 1)], [{50}, {70}])
    true("told", any("NVIDIA GPU 0" in one[3] for one in silences(trace)))


def a_device_that_we_may_not_use():
    trace = record(machine(NVIDIA), 2, "devices 2\nhidden 0 4\nat 0 gpu 1 busy 70")
    equal("the other", set(values(trace, "gpu_busy_pct")), {70})
    equal("losses", losses(trace), {})


def a_device_that_supports_nothing():
    trace = record(machine(NVIDIA), 1, "devices 1")
    equal("losses", losses(trace), {})


def no_library():
    trace = run.path("t.sonde")
    env = dict(os.environ, SONDE_DEVICE_ROOT=machine(NVIDIA))
    del env["LD_LIBRARY_PATH"]
    subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", "sleep", "1.5"],
                   env=env, check=True, timeout=30)
    report = json.loads(subprocess.run([run.sonde, "report", "--json", trace],
                                       capture_output=True, check=True).stdout)
    missing = {one["source"]: one["why"] for one in report["not_collected"]}
    equal("why", missing.get("accelerators"),
          "nvidia: libnvidia-ml.so.1 cannot be loaded")


def amd():
    card = "/sys/class/drm/card1/device"
    trace = record(machine({
        f"{card}/driver": "->../../../bus/pci/drivers/amdgpu",
        f"{card}/product_name": "Simulated Instinct\n",
        f"{card}/gpu_busy_percent": "77\n", f"{card}/mem_busy_percent": "12\n",
        f"{card}/mem_info_vram_used": "1000\n", f"{card}/mem_info_vram_total": "4000\n",
        f"{card}/hwmon/hwmon3/power1_average": "120000000\n",
        f"{card}/hwmon/hwmon3/temp1_input": "55000\n",
        f"{card}/hwmon/hwmon3/freq1_input": "1700000000\n",
        "/sys/class/drm/card1-DP-1/status": "connected\n"}), 1.5)
    equal("busy", set(values(trace, "gpu_busy_pct")), {77})
    equal("memory", set(values(trace, "gpu_mem_used_bytes")), {1000})
    equal("power", set(values(trace, "gpu_power_w")), {120})
    equal("temperature", set(values(trace, "gpu_temp_c")), {55})
    equal("clock", set(values(trace, "gpu_clock_mhz")), {1700})


def jetson():
    trace = record(machine({
        "/sys/devices/gpu.0/load": "423\n",
        "/proc/device-tree/model": "Simulated Orin\0",
        "/sys/class/thermal/thermal_zone2/type": "GPU-therm\n",
        "/sys/class/thermal/thermal_zone2/temp": "48500\n"}), 1.5)
    equal("busy", [round(v, 6) for v in set(values(trace, "gpu_busy_pct"))], [42.3])
    equal("temperature", set(values(trace, "gpu_temp_c")), {48.5})


def ascend():
    trace = record(machine({"/dev/davinci_manager": ""}), 1.5)
    equal("busy", [set(values(trace, "gpu_busy_pct", i)) for i in (0, 1)], [{70}, {10}])
    equal("memory", set(values(trace, "gpu_mem_used_bytes")), {8192 << 20})
    equal("power", set(values(trace, "gpu_power_w")), {310.5})


def npu_smi(mood):
    """The tool instead of the library, which is not there."""
    bin_dir = os.path.dirname(run.path("bin/x"))
    os.makedirs(bin_dir)
    os.symlink(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                            "sim", "simulated_npu_smi.sh"),
               os.path.join(bin_dir, "npu-smi"))
    trace = run.path("t.sonde")
    env = dict(os.environ, SONDE_DEVICE_ROOT=machine({"/dev/davinci_manager": ""}),
               PATH=bin_dir + ":" + os.environ["PATH"], SONDE_SIM_NPU_SMI=mood,
               SONDE_SIM_NPU_SMI_LOG=trace + ".log")
    del env["LD_LIBRARY_PATH"]
    began = time.monotonic()
    subprocess.run([run.sonde, "run", "--quiet", "-o", trace, "--", "sleep", "3.5"],
                   env=env, check=True, timeout=60)
    took = time.monotonic() - began
    true(f"took {took:.1f} s", took < 3.5 + HOLD_UP)
    return trace, took


def ascend_by_the_tool():
    trace, took = npu_smi("works")
    equal("busy", [set(values(trace, "gpu_busy_pct", i)) for i in (0, 1, 2)],
          [{40}, {41}, {70}])
    equal("memory", set(values(trace, "gpu_mem_used_bytes")), {(65536 << 20) / 4})
    equal("of all", set(values(trace, "gpu_mem_total_bytes", 2)), {65536 << 20})
    equal("memory busy", set(values(trace, "gpu_mem_busy_pct")), {31})
    equal("clock", set(values(trace, "gpu_clock_mhz")), {800})
    equal("power", set(values(trace, "gpu_power_w")), {91.8})
    equal("temperature, not the controller's", set(values(trace, "gpu_temp_c")), {38})
    with open(trace + ".log", encoding="utf-8") as file:
        asked = file.read().split("\n").count("info -t common -i 4")
    true(f"once a second: {asked} in {took:.1f} s", 2 <= asked <= took + 1.5)
    equal("losses", losses(trace), {})


def ascend_by_a_tool_that(mood):
    def test():
        trace, _ = npu_smi(mood)
        equal("values", values(trace, "gpu_busy_pct"), [])
        true(f"counted: {losses(trace)}", losses(trace).get("device-silent", 0) >= 1)
    return test


def drm(driver):
    card = "/sys/devices/pci0000:00/0000:00:02.0"
    return {"/sys/class/drm/card0/device": "->../../../devices/pci0000:00/0000:00:02.0",
            card + "/driver": "->../../../bus/pci/drivers/" + driver}


def half_busy(driver, engines, module=None):
    """Two files of one client count once; `engines` tells them at a time in ns. Where
    this script was held up, so was the simulated device: then it is done again."""
    for left in (2, 1, 0):
        trace, longest = tell_engines(driver, engines, module)
        known = [point for point in points(trace, "gpu_busy_pct") if point[1] is not None]
        spans = [(then - ts, value) for (ts, value), (then, _) in zip(known, known[1:])]
        mean = sum(ns * value for ns, value in spans) / max(1, sum(ns for ns, _ in spans))
        if 30 < mean < 70 or left == 0 or longest < 0.1:
            break
    true(f"half busy, by the busiest engine: {mean:.1f} of {known}, held up for "
         f"{longest:.2f} s", 30 < mean < 70 and sum(ns for ns, _ in spans) > 0.5e9)
    equal("memory, once", set(values(trace, "gpu_mem_used_bytes")), {2048 * 1024})


def tell_engines(driver, engines, module):
    """The trace, and how long the engines were told nothing new at most."""
    root = machine(drm(module or driver) | {
        "/proc/77/fd/5": "->/dev/dri/renderD128", "/proc/77/fd/6": "->/dev/dri/card0",
        "/proc/77/fd/7": "->/dev/null"})
    os.makedirs(root + "/proc/77/fdinfo")
    begun = time.monotonic_ns()

    def tell():
        for fd in (5, 6):
            path = f"{root}/proc/77/fdinfo/{fd}"
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(f"pos:\t0\ndrm-driver:\t{driver}\ndrm-client-id:\t9\n"
                           "drm-pdev:\t0000:00:02.0\n"
                           + engines(time.monotonic_ns() - begun) +
                           "drm-resident-system0:\t2048 KiB\n")
            os.rename(path + ".new", path)
    tell()
    trace = run.path("t.sonde")
    process = subprocess.Popen([run.sonde, "run", "--quiet", "-o", trace, "--",
                                "sleep", "2.5"],
                               env=dict(os.environ, SONDE_DEVICE_ROOT=root))
    longest, told = 0, time.monotonic()
    while process.poll() is None:
        tell()
        now = time.monotonic()
        longest, told = max(longest, now - told), now
        time.sleep(0.005)
    return trace, longest


def drm_fdinfo():
    half_busy("i915", lambda ns: f"drm-engine-render:\t{ns // 2} ns\n"
                                 f"drm-engine-copy:\t{ns // 4} ns\n")


def a_driver_of_two_names():
    half_busy("msm", lambda ns: f"drm-engine-gpu:\t{ns // 2} ns\n", "msm_dpu")


def several_engines_of_a_kind():
    half_busy("i915", lambda ns: f"drm-engine-video:\t{ns} ns\n"
                                 "drm-engine-capacity-video:\t2\n")


def engines_in_cycles():
    """As xe tells them, by a clock of 19.2 MHz."""
    def cycles(ns):
        return ns * 192 // 10000
    half_busy("xe", lambda ns: f"drm-cycles-rcs:\t{cycles(ns) // 2}\n"
                               f"drm-total-cycles-rcs:\t{cycles(ns)}\n"
                               f"drm-cycles-ccs:\t{cycles(ns)}\n"
                               f"drm-total-cycles-ccs:\t{cycles(ns)}\n"
                               "drm-engine-capacity-ccs:\t4\n")


def a_silent_device_takes_no_number():
    trace = record(machine(NVIDIA | drm("i915")), 2.5,
                   "devices 1\nstart 0.6\nat 0 gpu 0 busy 95")
    equal("the GPU is device 0", set(values(trace, "gpu_busy_pct")), {95})
    equal("devices", query(trace, "SELECT DISTINCT d.number FROM series s JOIN "
                                  "device d ON d.id = s.device_id WHERE "
                                  "s.scope = 'device'"), [[0]])


def holders(trace):
    """(pid, bytes) of the processes that are said to hold memory of device 0."""
    return [tuple(row) for row in query(
        trace, "SELECT DISTINCT p.pid, c.value FROM counter c "
               "JOIN series s ON s.id = c.series_id JOIN process p ON p.id = s.process_id "
               "JOIN device d ON d.id = s.device_id WHERE s.name = 'gpu_mem_used_bytes' AND s.scope = 'process' "
               "AND d.number = 0 AND c.value IS NOT NULL")]


def watched(pid, script):
    trace, text = run.path("t.sonde"), run.path("script")
    with open(text, "w", encoding="utf-8") as file:
        file.write(script)
    env = dict(os.environ, SONDE_DEVICE_ROOT=machine(NVIDIA), SONDE_SIM_NVML=text)
    done = subprocess.run([run.sonde, "watch", "--quiet", "--pid", str(pid), "--for", "2s",
                           "-o", trace], env=env, capture_output=True, text=True, timeout=60)
    equal(f"status: {done.stderr}", done.returncode, 0)
    return trace


def memory_by_process():
    with subprocess.Popen(["sleep", "30"]) as process:
        script = f"devices 1\nat 0 gpu 0 busy 5 user {process.pid} 500"
        trace = watched(process.pid, script)
        process.kill()
    equal("who", holders(trace), [(process.pid, 500 << 20)])


# Starts processes one after the other, until one is number N; that one stays.
INSIDE = """
import os, sys, time
while (child := os.fork()) != int(sys.argv[1]):
    if child == 0:
        time.sleep(30 if os.getpid() == int(sys.argv[1]) else 0)
        os._exit(0)
    os.waitpid(child, 0)
print("here", flush=True)
os.wait()
"""


def memory_in_a_namespace():
    """A number that only the inside has is the inside's; one that somebody has out
    here is not."""
    free = next(n for n in range(2, 1 << 16) if not os.path.exists(f"/proc/{n}"))
    with subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child",
                           "/usr/bin/python3", "-c", INSIDE, str(free)],
                          stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "here\n":
            raise Skip("no pid namespace can be made here")
        def script(pid):
            return f"devices 1\nat 0 gpu 0 busy 5 user {pid} 500"
        host = holders(watched(process.pid, script(1)))
        inside = holders(watched(process.pid, script(free)))
        names = []
        for pid, _ in inside:
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                names += [line.split()[-1] for line in file if line.startswith("NSpid:")]
        process.kill()
    equal("of the host's process 1", host, [])
    equal("of the inside", (names, [size for _, size in inside]),
          ([str(free)], [500 << 20]))


def none_at_all():
    trace = record(machine({"/etc/hostname": "x"}), 0.3)
    equal("series", query(trace, "SELECT count(*) FROM series WHERE scope = 'device'"),
          [[0]])


run.case("everything NVML says", everything_nvml_says)
run.case("what changes", what_changes)
run.case("values that cannot be are refused", values_that_cannot_be)
run.case("a library that hangs", a_library_that("hang", 1))
run.case("a library that crashes", a_library_that("crash", 3))
run.case("a library that ends its process", a_library_that("exit", 3))
run.case("a device that is lost", a_device_that_is_lost)
run.case("a device that a restart does not find", a_device_that_a_restart_does_not_find)
run.case("a device that we may not use", a_device_that_we_may_not_use)
run.case("a device that supports nothing", a_device_that_supports_nothing)
run.case("no library", no_library)
run.case("AMD by sysfs", amd)
run.case("Jetson by sysfs", jetson)
run.case("Ascend by DCMI", ascend)
run.case("Ascend by npu-smi", ascend_by_the_tool)
run.case("npu-smi that prints garbage", ascend_by_a_tool_that("garbage"))
run.case("npu-smi that fails", ascend_by_a_tool_that("fails"))
run.case("npu-smi that hangs", ascend_by_a_tool_that("hangs"))
run.case("npu-smi that does not end to print", ascend_by_a_tool_that("floods"))
run.case("others by fdinfo", drm_fdinfo)
run.case("fdinfo of a driver with two names", a_driver_of_two_names)
run.case("fdinfo with several engines of a kind", several_engines_of_a_kind)
run.case("fdinfo of xe, in cycles", engines_in_cycles)
run.case("a silent device takes no number", a_silent_device_takes_no_number)
def the_doctor():
    def ask(root, **env):
        done = subprocess.run([run.sonde, "doctor", "--json"], capture_output=True,
                              env=dict(os.environ, SONDE_DEVICE_ROOT=root, **env),
                              timeout=30)
        return next(one for one in json.loads(done.stdout)["sources"]
                    if one["source"] == "accelerators")
    script = run.path("script")
    with open(script, "w", encoding="utf-8") as file:
        file.write("devices 1\n")
    equal("one", ask(machine(NVIDIA), SONDE_SIM_NVML=script)["detail"],
          "Simulated GPU 0")
    equal("none", ask(machine({"/etc/x": ""}))["detail"], "there is none here")
    with open(script, "w", encoding="utf-8") as file:
        file.write("devices 1\nat 0 hang\n")
    told = ask(machine(NVIDIA), SONDE_SIM_NVML=script)
    equal("one that hangs", told.get("why"), "nvidia: its library does not answer")


run.case("memory by process", memory_by_process)
run.case("memory in a namespace", memory_in_a_namespace)
run.case("no accelerator", none_at_all)
run.case("what the doctor says", the_doctor)
run.done()
