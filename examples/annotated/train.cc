// A training loop that says what it does. Each step reads, augments, computes
// and now and then saves; augmenting takes six tenths of the time by
// construction, and runs on one core. Copy what you need.
//
//     c++ -O2 train.cc $(pkg-config --cflags --libs sonde) -o train
//     sonde run -- ./train 3
//
// Without `sonde run` every annotation is one branch that is not taken.

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <sonde/sonde.hpp>

namespace {

double g_sink = 0;

double ThreadCpuMs() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 +
         static_cast<double>(t.tv_nsec) / 1e6;
}

// Some arithmetic that takes `ms` of a core.
void Work(double ms) {
  const double end = ThreadCpuMs() + ms;
  while (ThreadCpuMs() < end)
    for (int i = 0; i < 1000; ++i) g_sink += 1.0 / (1.0 + i);
}

void Read() {
  SONDE_SCOPE("read");
  Work(1);
}

void Augment() {
  SONDE_SCOPE("augment");
  Work(6);
}

double Compute() {
  SONDE_SCOPE("compute");
  Work(2.5);
  return 1 / (1 + g_sink);
}

void Save() {
  SONDE_SCOPE("save");
  Work(5);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const int steps = static_cast<int>(seconds * 100);
  for (int step = 1; step <= steps; ++step) {
    SONDE_SCOPE("step");
    Read();
    Augment();
    const double loss = Compute();
    static sonde::Name kLoss("loss");
    sonde_counter_double(kLoss.id(), loss);
    if (step % 10 == 0) Save();
  }
  std::printf("%d steps, loss %.3g\n", steps, 1 / (1 + g_sink));
  return 0;
}
