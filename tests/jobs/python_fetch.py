"""Answers of a slow server, one after the other."""
import http.server
import multiprocessing
import time
import urllib.request


class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.15)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"answer")

    def log_message(self, *_):
        pass


def fetch(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        return answer.read()


if __name__ == "__main__":
    server = http.server.HTTPServer(("127.0.0.1", 0), Slow)
    child = multiprocessing.get_context("fork").Process(
        target=server.serve_forever, daemon=True)
    child.start()
    end = time.monotonic() + 6
    while time.monotonic() < end:
        fetch(server.server_port)
    child.terminate()
