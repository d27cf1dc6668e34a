"""Images are decoded and made smaller, one after the other."""
import io
import time
import numpy
from PIL import Image

buffer = io.BytesIO()
Image.fromarray(numpy.random.randint(0, 255, (1200, 1600, 3), numpy.uint8)).save(
    buffer, "JPEG")


def thumbnail():
    image = Image.open(io.BytesIO(buffer.getvalue()))
    return image.resize((224, 224), Image.LANCZOS)


end = time.monotonic() + 6
while time.monotonic() < end:
    thumbnail()
