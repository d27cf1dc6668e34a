// The bars of the recorder in the target (Fault 25, a higher cost): what a
// begin and an end cost while another process drains them to a file, against
// two bare reads of the clock in the same thread and round. A round counts its
// own CPU time, so that waiting for a core does not; the figure is the median
// of the rounds. Where LTTng is installed, a round of its two tracepoints
// follows each of ours.
//
// This process is the collector. It starts itself again as the target, which
// asks it by a pipe how much has arrived and how much was lost.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sonde/sonde.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "lttng_peer.h"
#include "rounds.h"
#include "tools/ring_session.h"

namespace sonde {
namespace {

bool quick = false;
bool all_ok = true;

// What the collector answers.
struct Arrived {
  uint64_t records = 0;
  uint64_t lost = 0;
  uint64_t most_bytes = 0;  // of a ring and its tails, allocated
  uint64_t used_bytes = 0;  // of them, in chunks that were ever used
};

constexpr int kAsk = 3;
constexpr int kAnswer = 4;

// Waits until all that was recorded is drained.
Arrived Sync() {
  char ask = 'q';
  Arrived arrived;
  CHECK(::write(kAsk, &ask, 1) == 1);
  CHECK(::read(kAnswer, &arrived, sizeof(arrived)) == sizeof(arrived));
  return arrived;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Report(const char* bar, double value, const char* unit, double limit,
            bool at_most, uint64_t lost, const std::string& peers = "") {
  const bool ok = (at_most ? value <= limit : value >= limit) && lost == 0;
  all_ok &= ok;
  fmt::print(
      "{{\"bar\":\"{}\",\"value\":{:.4g},\"unit\":\"{}\",\"limit\":{},"
      "\"ok\":{},\"lost\":{},\"peers\":{{{}}}}}\n",
      bar, value, unit, limit, ok, lost, peers);
  std::fflush(stdout);
}

[[gnu::noinline]] void InlinePairs(long pairs) {
  for (long i = 0; i < pairs; ++i) {
    SONDE_BEGIN("inline");
    asm volatile("" ::: "memory");
    SONDE_END();
  }
}

constexpr long kOffTimes = 20;

uint32_t abi_name = 0;
[[gnu::noinline]] void AbiPairs(long pairs) {
  for (long i = 0; i < pairs; ++i) {
    sonde_begin(abi_name);
    asm volatile("" ::: "memory");
    sonde_end();
  }
}

uint32_t arg_name = 0;
[[gnu::noinline]] void ArgPairs(long pairs) {
  static sonde_site site = SONDE_SITE("with an argument");
  for (long i = 0; i < pairs; ++i) {
    sonde_begin_int_inline(&site, arg_name, i);
    asm volatile("" ::: "memory");
    SONDE_END();
  }
}

// What most programs would write: a lock, a vector, a string.
struct MutexRecord {
  std::string name;
  int64_t ns;
  std::thread::id thread;
  char what;
};
std::mutex mutex;
std::vector<MutexRecord> mutex_records;
[[gnu::noinline]] void MutexPairs(long pairs) {
  for (long i = 0; i < pairs; ++i)
    for (const char what : {'B', 'E'}) {
      const int64_t now = NowNs();
      const std::lock_guard guard(mutex);
      mutex_records.push_back(
          {"conv2d_forward", now, std::this_thread::get_id(), what});
    }
}

// One ratio for each round, and a round of the peer after it.
std::vector<double> Ratios(void (*loop)(long), int rounds, long pairs,
                           LttngPeer* peer = nullptr) {
  std::vector<double> ratios;
  loop(pairs);
  ReadClocks(pairs);
  if (peer) peer->Round(pairs, true);
  for (int i = 0; i < rounds; ++i) {
    ratios.push_back(RatioOfRound(loop, pairs));
    if (peer) peer->Round(pairs);
    ::usleep(2000);
  }
  return ratios;
}

double MutexRatio() {
  const double ratio = Median(Ratios(MutexPairs, quick ? 3 : 7, 20'000));
  mutex_records = {};
  return ratio;
}

void InlineBar(int rounds, long pairs, uint64_t lost_before) {
  LttngPeer lttng(SONDE_LTTNG_PEER, SONDE_LTTNG_ROUNDS);
  const double ratio = Median(Ratios(InlinePairs, rounds, pairs, &lttng));
  const uint64_t lost = Sync().lost - lost_before;
  std::string peers = fmt::format("\"mutex_vector\":{:.3g}", MutexRatio());
  if (lttng.Finish())
    peers += fmt::format(",\"lttng_ust\":{:.3g}", Median(lttng.ratios()));
  Report("record_pair_inline", ratio, "x", 1.15, true, lost, peers);
}

void PairBars() {
  const int rounds = quick ? 5 : 61;
  const long pairs = quick ? 5'000 : 50'000;
  abi_name = sonde_name("by the ABI");
  arg_name = sonde_name("argument");
  // Lets the pool grow to what the rounds need.
  InlinePairs(pairs * 4);
  uint64_t before = Sync().lost;
  const auto bar = [&](const char* name, void (*loop)(long), double limit) {
    const double ratio = Median(Ratios(loop, rounds, pairs));
    const uint64_t lost = Sync().lost;
    Report(name, ratio, "x", limit, true, lost - before);
    before = lost;
  };
  InlineBar(rounds, pairs, before);
  before = Sync().lost;
  bar("record_pair_abi", AbiPairs, 1.25);
  bar("record_args", ArgPairs, 1.3);
  sonde_pause();
  // So short that a round of as many would be all noise.
  const auto many = [](long count) { InlinePairs(count * kOffTimes); };
  const double off = Median(Ratios(many, rounds, pairs)) / kOffTimes;
  Report("record_off", off, "x", 0.05, true, 0);
  sonde_resume();
}

void TwoThreadsBar() {
  const uint64_t before = Sync().lost;
  std::vector<double> ratios[2];
  std::vector<std::thread> threads;
  for (auto& mine : ratios)
    threads.emplace_back([&mine] {
      mine = Ratios(InlinePairs, quick ? 5 : 61, quick ? 5'000 : 50'000);
    });
  for (auto& thread : threads) thread.join();
  const double value = (Median(ratios[0]) + Median(ratios[1])) / 2;
  Report("record_pair_2threads", value, "x", 1.2, true, Sync().lost - before);
}

void AttachBars() {
  std::vector<double> times;
  for (int i = 0; i < (quick ? 5 : 100); ++i)
    std::thread([&] {
      const int64_t start = NowNs();
      SONDE_INSTANT("first of a thread");
      times.push_back(double(NowNs() - start) / 1e3);
    }).join();
  const uint64_t before = Sync().lost;
  Report("attach_us", Median(times), "us", 20, true, 0);
  times.clear();
  for (int i = 0; i < (quick ? 5 : 50); ++i) {
    int ends[2];
    CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    if (const pid_t child = ::fork(); child == 0) {
      const int64_t start = NowNs();
      SONDE_INSTANT("first of a process");
      const double us = double(NowNs() - start) / 1e3;
      ::_exit(::write(ends[1], &us, sizeof(us)) != sizeof(us));
    }
    double us = 0;
    CHECK(::read(ends[0], &us, sizeof(us)) == sizeof(us));
    ::wait(nullptr);
    ::close(ends[0]);
    ::close(ends[1]);
    times.push_back(us);
  }
  Report("attach_process_us", Median(times), "us", 1000, true,
         Sync().lost - before);
}

void ThreadBytesBar() {
  const Arrived start = Sync();
  const int count = quick ? 160 : 2000;
  std::atomic<int> ready = 0;
  std::atomic<bool> go = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      SONDE_INSTANT("idle");
      ++ready;
      go.wait(false);
    });
  while (ready < count) ::usleep(1000);
  const Arrived held = Sync();
  go = true;
  go.notify_all();
  for (auto& thread : threads) thread.join();
  // A writer of 128 bytes is in the process itself.
  Report("record_thread_bytes",
         double(held.used_bytes - start.used_bytes) / count + 128, "B",
         4096 + 128, true, held.lost - start.lost);
}

int Target() {
  ThreadBytesBar();
  PairBars();
  TwoThreadsBar();
  AttachBars();
  Report("record_memory_mb", double(Sync().most_bytes) / 1e6, "MB", 67.2, true,
         0);
  return all_ok ? 0 : 1;
}

uint64_t AllocatedBytes(int fd) {
  struct stat status;
  return ::fstat(fd, &status) == 0 ? uint64_t(status.st_blocks) * 512 : 0;
}

void Answer(RingSession& session, int ask, int answer) {
  char question;
  if (::read(ask, &question, 1) != 1) return;
  session.Find();
  while (session.Drain() > 0) {
  }
  Arrived arrived = {session.records(), session.lost(), 0, 0};
  for (const auto& [name, one] : session.rings) {
    for (const uint8_t use : one->reader.header().use)
      if (use != 0) arrived.used_bytes += kChunkBytes;
    arrived.most_bytes =
        std::max(arrived.most_bytes, AllocatedBytes(one->ring.get()) +
                                         AllocatedBytes(one->tails.get()));
  }
  CHECK(::write(answer, &arrived, sizeof(arrived)) == sizeof(arrived));
}

int Collector(char** argv) {
  RingSession session;
  const std::string disk =
      std::filesystem::path(::getenv("SONDE_BUILD") ? ::getenv("SONDE_BUILD")
                                                    : "/tmp") /
      "record_bench.out";
  const Fd file(::open(disk.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
  uint64_t written = 0;
  session.on_records = [&](const RingThread&, std::span<const uint64_t> words) {
    // The disk's own speed is not what is measured.
    if (written > (256u << 20)) written = 0, (void)::lseek(file.get(), 0, 0);
    CHECK(WriteAll(file.get(), words.data(), words.size_bytes()) == 0);
    written += words.size_bytes();
  };
  int ask[2], answer[2];
  CHECK(::pipe2(ask, O_CLOEXEC) == 0 && ::pipe2(answer, O_CLOEXEC) == 0);
  ::setenv("SONDE_SESSION", session.path.c_str(), 1);
  const pid_t target = ::fork();
  if (target == 0) {
    CHECK(::dup2(ask[1], 30) == 30 && ::dup2(answer[0], 31) == 31);
    CHECK(::dup2(30, kAsk) == kAsk && ::dup2(31, kAnswer) == kAnswer);
    ::execv("/proc/self/exe", argv);
    ::_exit(127);
  }
  int status = 0;
  pollfd wait = {ask[0], POLLIN, 0};
  int64_t looked = 0;
  while (::waitpid(target, &status, WNOHANG) == 0) {
    if (::poll(&wait, 1, 1) > 0) Answer(session, ask[0], answer[1]);
    if (const int64_t now = NowNs(); now - looked > 20 * kNsPerMs) {
      looked = now;
      session.Find();
    }
    session.Drain();
  }
  session.Finish();
  std::filesystem::remove(disk);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--quick") == 0) sonde::quick = true;
  return sonde_recording() ? sonde::Target() : sonde::Collector(argv);
}
