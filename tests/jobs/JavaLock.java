// Threads that do all their work under one lock.
public class JavaLock {
  static final Object lock = new Object();
  static long sink;

  static void compute() {
    synchronized (lock) {
      long x = sink;
      for (int i = 0; i < 4000000; ++i) x = x * 6364136223846793005L + 1;
      sink = x;
    }
  }

  public static void main(String[] args) throws Exception {
    final long end = System.nanoTime() + 6_000_000_000L;
    Thread[] threads = new Thread[6];
    for (int i = 0; i < threads.length; ++i) {
      threads[i] = new Thread(() -> {
        while (System.nanoTime() < end) compute();
      });
      threads[i].start();
    }
    for (Thread t : threads) t.join();
  }
}
