// A cache that fills nearly all of the heap, and short-lived objects beside it.
import java.util.ArrayDeque;

public class JavaHeap {
  public static void main(String[] args) {
    final long end = System.nanoTime() + 6_000_000_000L;
    ArrayDeque<byte[]> cache = new ArrayDeque<>();
    while (System.nanoTime() < end) {
      cache.add(new byte[1000]);
      if (cache.size() > 48000) cache.poll();
    }
  }
}
