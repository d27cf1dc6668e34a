// As many threads as cores compute.
public class JavaLoop {
  static volatile long sink;

  static long compute(long x) {
    for (int i = 0; i < 10000000; ++i) x = x * 6364136223846793005L + i;
    return x;
  }

  public static void main(String[] args) throws Exception {
    final long end = System.nanoTime() + 6_000_000_000L;
    Thread[] threads = new Thread[Runtime.getRuntime().availableProcessors()];
    for (int i = 0; i < threads.length; ++i) {
      threads[i] = new Thread(() -> {
        long x = 1;
        while (System.nanoTime() < end) x = compute(x);
        sink = x;
      });
      threads[i].start();
    }
    for (Thread t : threads) t.join();
  }
}
