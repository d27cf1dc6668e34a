"""A client that waits for an answer and reads and writes nothing meanwhile.

Whatever its neighbours do to a disk, storage is not what it waits for.
"""
import os
import time

reader, writer = os.pipe()
if os.fork() == 0:
    os.close(reader)
    time.sleep(6)
    os.write(writer, b"answer")
    os._exit(0)
os.close(writer)
assert os.read(reader, 100) == b"answer"
os.wait()
