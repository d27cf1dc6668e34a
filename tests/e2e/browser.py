"""A headless chromium with one page, steered over its debugging pipe."""
import fcntl
import json
import os
import select
import subprocess
import time

PATIENCE_S = 120
# The least contrast of any text of a page with what lies behind it, and where.
CONTRAST = """(() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = c => {
    const [r, g, b] = c.slice(0, 3).map(v => {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  let least = 99, where = "";
  for (const e of document.body.querySelectorAll("*")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (["SCRIPT", "STYLE", "title", "desc"].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const ink = parse(e.tagName === "text" ? style.fill : style.color);
    const a = light(ink), b = light(paper(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least) [least, where] = [ratio, e.tagName + " " + e.className];
  }
  return [least, where];
})()"""


class Browser:
    """Keeps what the page said in the console and what it asked for."""

    def __init__(self, program, home):
        to_read, self.write_fd = os.pipe()
        self.read_fd, to_write = os.pipe()
        # Out of the way of 3 and 4, which are chromium's ends.
        child = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_read, to_write)]

        def ends():
            os.dup2(child[0], 3)
            os.dup2(child[1], 4)

        self.log = open(home / "chromium.log", "wb")
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking",
             # Nothing but the loopback can be reached.
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             "--remote-debugging-pipe", f"--user-data-dir={home}/profile",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            pass_fds=(3, 4), preexec_fn=ends, env={**os.environ, "HOME": str(home)})
        for fd in (to_read, to_write, *child):
            os.close(fd)
        self.number, self.rest, self.session = 0, b"", None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                ready, _, _ = select.select([self.read_fd], [], [], PATIENCE_S)
                more = os.read(self.read_fd, 1 << 16) if ready else b""
                assert more, "chromium does not answer"
                self.rest += more
            answer, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(answer)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def said(self, *methods):
        """The parameters of the events of these names so far."""
        return [e["params"] for e in self.events if e.get("method") in methods]

    def evaluate(self, script):
        got = self.call("Runtime.evaluate", expression=script,
                        awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def open(self, path):
        """Loads a file, and takes note of all it does."""
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=path.as_uri())
        deadline = time.monotonic() + PATIENCE_S
        while self.evaluate("document.readyState + document.URL") != \
                "complete" + path.as_uri():
            assert time.monotonic() < deadline, "the page does not load"
            time.sleep(0.05)

    def scheme(self, name):
        """Makes the system "light" or "dark"; returns the colour of the paper."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name}])
        return self.evaluate("getComputedStyle(document.body).backgroundColor")

    def close(self):
        os.close(self.write_fd)
        os.close(self.read_fd)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
