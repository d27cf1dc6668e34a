"""Small inferences on eight threads."""
import time
import ort_model

session, values = ort_model.session(256, 16, threads=8)
end = time.monotonic() + 6
while time.monotonic() < end:
    session.run(None, values)
