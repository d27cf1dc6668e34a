// The compute side of the example: reads square matrices of doubles from
// standard input, multiplies each into a running state, and says at the end
// what it computed and what CPU time it used. It is much faster than the
// loader that feeds it, so it waits on its pipe most of the time.

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>

namespace {

constexpr int kSize = 24;
using Matrix = std::array<double, kSize * kSize>;

// False at the end of the input.
bool ReadMatrix(Matrix& matrix) {
  char* at = reinterpret_cast<char*>(matrix.data());
  size_t left = sizeof(matrix);
  while (left > 0) {
    const ssize_t got = ::read(STDIN_FILENO, at, left);
    if (got <= 0) return false;
    at += got;
    left -= static_cast<size_t>(got);
  }
  return true;
}

// state = squash(state * input / kSize + input), which stays bounded for ever.
void Step(Matrix& state, const Matrix& input) {
  Matrix product{};
  for (int i = 0; i < kSize; ++i)
    for (int k = 0; k < kSize; ++k)
      for (int j = 0; j < kSize; ++j)
        product[i * kSize + j] += state[i * kSize + k] * input[k * kSize + j];
  for (int i = 0; i < kSize * kSize; ++i) {
    const double x = product[i] / kSize + input[i];
    state[i] = x / (1 + std::abs(x));
  }
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) /
             1e6;
}

}  // namespace

int main() {
  Matrix state{}, input{};
  for (int i = 0; i < kSize; ++i) state[i * kSize + i] = 1;
  long records = 0;
  for (; ReadMatrix(input); ++records) Step(state, input);

  double sum = 0;
  for (const double value : state) sum += value * value;
  std::printf("compute: %ld records, norm %.3f, cpu_s=%.3f\n", records,
              std::sqrt(sum), CpuSeconds());
  return 0;
}
