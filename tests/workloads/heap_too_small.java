// Keeps nearly all that its heap can hold, and goes on making garbage.

import java.util.ArrayDeque;

public class heap_too_small {
  public static void main(String[] words) {
    ArrayDeque<byte[]> kept = new ArrayDeque<>();
    long end = System.nanoTime() + 7_000_000_000L;
    while (System.nanoTime() < end) {
      kept.add(new byte[2000]);
      if (kept.size() > 22_000) kept.poll();
    }
  }
}
