"""Text is parsed again and again."""
import json
import time

text = json.dumps([{"id": i, "words": ["a", "b", "c"] * 5} for i in range(2000)])


def parse():
    return json.loads(text)


end = time.monotonic() + 6
while time.monotonic() < end:
    parse()
