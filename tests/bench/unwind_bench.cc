// What a native stack costs: this program's own, of 22 functions, unwound from
// a copy as those of a target are. One JSON object a line; see `bench` in
// sonde.sh.

#include <fmt/format.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "collect/stacks/process_memory.h"
#include "collect/unwind/unwinder.h"

namespace sonde {
namespace {

int64_t CpuNs() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool Report(const char* bar, double value, double limit, size_t frames) {
  const bool ok = value <= limit;
  fmt::print(
      "{{\"bar\":\"{}\",\"value\":{:.4g},\"unit\":\"us\",\"limit\":{},"
      "\"ok\":{},\"peers\":{{\"frames\":{}}}}}\n",
      bar, value, limit, ok, frames);
  std::fflush(stdout);
  return ok;
}

// What of a thread is known at one moment.
struct Moment {
  Registers registers;
  std::vector<uint8_t> bytes;
};

volatile int sink = 0;

// Each of these is a function of its own.
template <int kDepth>
[[gnu::noinline]] void Deeper(Moment& moment) {
  volatile int room[kDepth % 5 + 1];
  room[0] = sink;
  if constexpr (kDepth > 0) {
    Deeper<kDepth - 1>(moment);
  } else {
#if defined(__x86_64__)
    ucontext_t here;
    ::getcontext(&here);
    constexpr std::pair<Register, int> kFrom[] = {
        {kRbx, REG_RBX}, {kRbp, REG_RBP}, {kR12, REG_R12}, {kR13, REG_R13},
        {kR14, REG_R14}, {kR15, REG_R15}, {kRsp, REG_RSP}, {kRip, REG_RIP}};
    for (const auto& [number, at] : kFrom)
      moment.registers.Set(number,
                           static_cast<uint64_t>(here.uc_mcontext.gregs[at]));
    moment.bytes.resize(16 << 10);
    ProcessMemory memory(::getpid());
    while (memory.Read(moment.registers[kRsp], moment.bytes) != 0)
      moment.bytes.resize(moment.bytes.size() - 64);
#endif
  }
  sink = room[0];
}

int Main(bool quick) {
  Moment moment;
  Deeper<17>(moment);
  const size_t rounds = quick ? 100 : 20'000;
  CodeFiles files;
  ProcessCode code(::getpid(), files);
  NativeStack out;
  std::vector<double> known, fresh;
  for (int round = 0; round < 7; ++round) {
    Unwinder unwinder;
    const int64_t begin_ns = CpuNs();
    unwinder.Unwind(code, moment.registers,
                    {moment.registers[kRsp], moment.bytes}, out);
    const int64_t first_ns = CpuNs();
    for (size_t i = 0; i < rounds; ++i)
      unwinder.Unwind(code, moment.registers,
                      {moment.registers[kRsp], moment.bytes}, out);
    const int64_t end_ns = CpuNs();
    fresh.push_back(static_cast<double>(first_ns - begin_ns) / 1e3);
    known.push_back(static_cast<double>(end_ns - first_ns) / 1e3 /
                    static_cast<double>(rounds));
  }
  bool ok = out.end == UnwindEnd::kComplete && out.frames.size() >= 22;
  ok &= Report("unwind_us", Median(known), 3, out.frames.size());
  ok &= Report("unwind_new_places_us", Median(fresh), 100, out.frames.size());
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  return sonde::Main(argc > 1 && std::string_view(argv[1]) == "--quick");
}
