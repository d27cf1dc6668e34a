#!/usr/bin/env python3
"""`sonde export --to pai` is what readers of OpenPAI's profiler expect.

usage: pai_test.py SONDE

The CSV is read as its users do, the pictures are checked chunk by chunk, and
the numbers are those that the made trace says.
"""
import csv
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SONDE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                     else ROOT / "build/src/sonde").resolve()
HEADER = ["timestamp", "cpu_usage(%)", "mem_used(GiByte)", "mem_total(GiByte)",
          "IO_read(KiByte/s)", "IO_write(KiByte/s)",
          "network_receive(KiByte/s)", "network_transmit(KiByte/s)"]
PICTURES = ["CPU_GPU_Utilization", "Disk_Utilization", "GPU_MEM_Utilization",
            "GPU_UTI_Utilization", "Network_Utilization"]
SECONDS = 40
BASE = f"""sonde-text 0
meta started_ns 0
meta ended_ns {SECONDS * 10**9}
meta rate_hz 10
meta cores 4
meta allowed_cores 4
meta memory_limit_bytes {4 << 30}
process 1 pid=10 name=train start=0 end={SECONDS}s exit=0
series 1 scope=process:1 name=cpu_ns
series 2 scope=process:1 name=rss_bytes
series 3 scope=process:1 name=read_bytes kind=total
series 4 scope=process:1 name=write_bytes kind=total
series 5 scope=machine name=net_rx_bytes label=eth0 kind=total
series 6 scope=machine name=net_tx_bytes label=eth0 kind=total
series 7 scope=machine name=mem_total_bytes
ramp 1 to={SECONDS}s slope=1.5s/s
ramp 2 to={SECONDS}s value=1GiB
ramp 3 to={SECONDS}s slope=1024KiB/s
ramp 4 to={SECONDS}s slope=512KiB/s
ramp 5 to={SECONDS}s slope=256KiB/s
ramp 6 to={SECONDS}s slope=128KiB/s
ramp 7 to={SECONDS}s value=16GiB
"""


def gpus(*shares):
    lines = []
    for device, share in enumerate(shares):
        at = 10 + 3 * device
        for name in ("gpu_busy_pct", "gpu_mem_used_bytes", "gpu_mem_total_bytes"):
            lines.append(f"series {at} scope=device:{device} name={name} group=5")
            at += 1
        at -= 3
        lines.append(f"ramp {at} to={SECONDS}s value=50")
        lines.append(f"ramp {at + 1} to={SECONDS}s value={int(share * (16 << 30))}")
        lines.append(f"ramp {at + 2} to={SECONDS}s value=16GiB")
    return "\n".join(lines) + "\n"


def sonde(*args, want=0):
    run = subprocess.run([str(SONDE), *map(str, args)], capture_output=True,
                         timeout=60)
    assert run.returncode == want, run.stderr.decode()
    return run.stderr.decode()


def png_size(data):
    """Width and height; every chunk has the checksum it says."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds = 8, []
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        (check,) = struct.unpack(">I", data[at + 8 + length:at + 12 + length])
        assert check == zlib.crc32(data[at + 4:at + 8 + length]), kind
        kinds.append(kind)
        at += 12 + length
    assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND", kinds
    return struct.unpack(">II", data[16:24])


def png_rows(data, count):
    """The first rows, each a list of (red, green, blue)."""
    width, _, depth, kind = struct.unpack(">IIBB", data[16:26])
    step = {2: 3, 6: 4}[kind]
    assert depth == 8
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    raw, size = zlib.decompress(packed), width * step
    rows, above = [], bytes(size)
    for at in range(0, count * (size + 1), size + 1):
        how, row = raw[at], bytearray(raw[at + 1:at + 1 + size])
        for i in range(size):
            left = row[i - step] if i >= step else 0
            corner = above[i - step] if i >= step else 0
            up = above[i]
            if how == 4:
                guess = left + up - corner
                near = min((left, up, corner), key=lambda one: abs(guess - one))
            else:
                near = (0, left, up, (left + up) // 2)[how]
            row[i] = (row[i] + near) & 255
        rows.append([tuple(row[i:i + 3]) for i in range(0, size, step)])
        above = row
    return rows


def legend(path):
    """The colours of the samples in a picture's legend: 17 by 4 pixels each."""
    rows, found = png_rows(path.read_bytes(), 160), []
    for y in range(1, len(rows) - 4):
        for x in range(1, len(rows[y]) - 17):
            colour = rows[y][x]
            if (min(colour) > 200 or rows[y][x - 1] == colour
                    or rows[y - 1][x] == colour or rows[y][x + 17] == colour):
                continue
            if all(rows[y + dy][x + dx] == colour
                   for dy in range(4) for dx in range(17)):
                found.append(colour)
    return found


class Tests:
    """One run with two GPUs, one with none, one that is too short."""

    def __init__(self, home):
        self.home = home
        self.out = self.export("two", BASE + gpus(0.5, 0.3))

    def export(self, name, text):
        trace = self.home / f"{name}.txt"
        trace.write_text(text)
        out = self.home / name
        sonde("export", trace, "--to", "pai", "-o", out)
        return out

    def rows(self, out):
        with open(out / "log_result.csv", newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        return header, rows

    def test_the_files_are_those_and_for_their_owner(self):
        got = sorted(str(p.relative_to(self.out)) for p in self.out.rglob("*")
                     if p.is_file())
        want = sorted(["log.txt", "log_result.csv"] +
                      [f"img/{name}.png" for name in PICTURES])
        assert got == want, got
        for path in self.out.rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path

    def test_the_header_is_letter_for_letter(self):
        header, rows = self.rows(self.out)
        want = HEADER + [f"gpu_{what}_{i}" for i in (0, 1)
                         for what in ("usage", "mem_usage", "mem_used", "mem_total")]
        assert header == want, header
        assert all(len(row) == 8 + 4 * 2 for row in rows)
        times = [float(row[0]) for row in rows]
        assert all(a < b for a, b in zip(times, times[1:]))
        assert len(rows) == SECONDS * 10 and times[-1] == SECONDS

    def test_the_numbers_are_right(self):
        _, rows = self.rows(self.out)
        row = [float(cell or "nan") for cell in rows[len(rows) // 2]]
        want = [None, 150, 1, 4, 1024, 512, 256, 128, 50, None, 8, 16, 50, None,
                4.8, 16]
        for got, value in zip(row, want):
            assert value is None or abs(got - value) < 0.01 * value, (row, want)
        assert row[9] != row[9], "never collected is not 0"

    def test_the_log_says_words_and_statistics(self):
        log = (self.out / "log.txt").read_text()
        for text in [
                "We have finished the analyzing 4 times",
                "There is  MOST  sample showing that ' There is mal-distribution",
                "There is  MOST  sample showing that ' Both the GPU and",
                "There is  NO  sample showing that ' GPU memory is full",
                "There is  NO  sample showing that ' IO, CPU and GPU",
                "The average value of the CPU Utilization is 150%",
                "The total number of the GPU cards is 2",
                "The memory Utilization of Card Index  0 is 50.0000%",
                "The memory Utilization of Card Index  1 is 30.0000%",
                "]25.00% has been finished", "]100.00% has been finished"]:
            assert text in log, (text, log)
        (volume,) = [line for line in log.splitlines() if "total read" in line]
        amount = float(volume.rsplit(" ", 1)[1].removesuffix("KB"))
        assert abs(amount - 1024 * SECONDS) < 1024, volume

    def test_the_pictures_are_png(self):
        for name in PICTURES:
            size = png_size((self.out / "img" / f"{name}.png").read_bytes())
            assert size[0] >= 640 and size[1] >= 480, size

    def test_each_of_eight_gpus_has_its_name_and_colour(self):
        out = self.export("eight", BASE + gpus(*(0.1 * i for i in range(1, 9))))
        for name, lines in (("GPU_MEM", 8), ("GPU_UTI", 8), ("CPU_GPU", 9)):
            found = legend(out / "img" / f"{name}_Utilization.png")
            assert len(found) == lines == len(set(found)), (name, found)

    def test_no_gpu_is_no_failure(self):
        out = self.export("none", BASE)
        header, rows = self.rows(out)
        assert header == HEADER and rows
        assert "GPU cards is 0" in (out / "log.txt").read_text()
        for name in PICTURES:
            png_size((out / "img" / f"{name}.png").read_bytes())

    def test_a_run_of_a_moment_is_no_failure(self):
        out = self.export("short", "sonde-text 0\nmeta started_ns 0\n"
                          "meta ended_ns 300000000\n")
        assert self.rows(out)[0] == HEADER
        assert "There is  NO  sample" in (out / "log.txt").read_text()

    def test_a_full_disk_leaves_nothing_behind(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        trace, out = self.home / "full.txt", self.home / "full"
        trace.write_text("sonde-text 0\nmeta started_ns 0\nmeta ended_ns 1000\n")
        run = subprocess.run([SONDE, "export", trace, "--to", "pai", "-o", out],
                             capture_output=True, preexec_fn=limit)
        assert run.returncode == 1 and b"log.txt" in run.stderr, run
        assert not out.exists(), "the table fitted, and was taken back"

    def test_a_failure_leaves_the_results_of_before(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        text = "sonde-text 0\nmeta started_ns 0\nmeta ended_ns 1000\n"
        trace, out = self.home / "again.txt", self.export("again", text)
        before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
        run = subprocess.run([SONDE, "export", trace, "--to", "pai", "-o", out,
                              "--force"], capture_output=True, preexec_fn=limit)
        assert run.returncode == 1 and b"log.txt" in run.stderr, run
        after = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
        assert after == before, sorted(map(str, set(after) ^ set(before)))

    def test_without_libgd_there_are_numbers_and_no_pictures(self):
        library = self.home / "lib"
        library.mkdir()
        (library / "libgd.so.3").write_text("not a library")
        trace, out = self.home / "nogd.txt", self.home / "nogd"
        trace.write_text(BASE)
        run = subprocess.run([SONDE, "export", trace, "--to", "pai", "-o", out],
                             capture_output=True,
                             env={"LD_LIBRARY_PATH": str(library)})
        assert run.returncode == 0, run
        assert b"no picture" in run.stderr and b"libgd3" in run.stderr, run
        got = sorted(p.name for p in out.rglob("*"))
        assert got == ["log.txt", "log_result.csv"], got

    def test_what_is_there_is_left_alone(self):
        before = (self.out / "log.txt").read_bytes()
        said = sonde("export", self.home / "two.txt", "--to", "pai", "-o",
                     self.out, want=2)
        assert "--force" in said, said
        assert (self.out / "log.txt").read_bytes() == before
        sonde("export", self.home / "two.txt", "--to", "pai", "-o", self.out,
              "--force")


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        tests = Tests(pathlib.Path(directory))
        for name in dir(tests):
            if not name.startswith("test_"):
                continue
            try:
                getattr(tests, name)()
                print(f"ok pai_{name[5:]}", flush=True)
            except Exception as error:  # noqa: BLE001
                said = (str(error) or repr(error)).replace("\n", " ")
                print(f"FAIL pai_{name[5:]} {said[:600]}", flush=True)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
