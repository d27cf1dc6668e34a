// LTTng-UST as a peer: a program with its tracepoints, in a session of its own
// that records to disk, which does a round when it is told to.

#ifndef SONDE_TESTS_BENCH_LTTNG_PEER_H_
#define SONDE_TESTS_BENCH_LTTNG_PEER_H_

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"

namespace sonde {

// Absent where LTTng is not installed or does not start: then nothing is
// measured, and ratios() stays empty.
class LttngPeer {
 public:
  // `script` is lttng_peer.py, `program` lttng_rounds.
  LttngPeer(const std::string& script, const std::string& program) {
    if (::access(program.c_str(), X_OK) != 0) return;
    int to[2], from[2];
    CHECK(::pipe2(to, O_CLOEXEC) == 0 && ::pipe2(from, O_CLOEXEC) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      CHECK(::dup2(to[0], 0) == 0 && ::dup2(from[1], 1) == 1);
      ::execlp("python3", "python3", script.c_str(), program.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = ::fdopen(to[1], "w");
    from_ = ::fdopen(from[0], "r");
    char line[16] = "";
    ready_ = std::fgets(line, sizeof(line), from_) &&
             std::strcmp(line, "ready\n") == 0;
  }
  LttngPeer(const LttngPeer&) = delete;
  LttngPeer& operator=(const LttngPeer&) = delete;

  // One round. Does not count if `warm`.
  void Round(long pairs, bool warm = false) {
    double ratio = 0;
    if (!ready_) return;
    std::fprintf(to_, "%ld\n", pairs);
    std::fflush(to_);
    ready_ = std::fscanf(from_, "%lf", &ratio) == 1;
    pairs_ += pairs;
    if (ready_ && !warm) ratios_.push_back(ratio);
  }

  // Ends the session. False: there was none, or it lost some of its events.
  bool Finish() {
    if (child_ <= 0) return false;
    std::fclose(to_);
    int64_t discarded = -1, bytes = 0;
    const bool told =
        std::fscanf(from_, " discarded %" SCNd64 " recorded %" SCNd64,
                    &discarded, &bytes) == 2;
    std::fclose(from_);
    ::waitpid(child_, nullptr, 0);
    // An event has four bytes at least.
    return ready_ && told && discarded == 0 && bytes >= 2 * pairs_ * 4;
  }

  const std::vector<double>& ratios() const { return ratios_; }

 private:
  pid_t child_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
  bool ready_ = false;
  int64_t pairs_ = 0;
  std::vector<double> ratios_;
};

}  // namespace sonde

#endif  // SONDE_TESTS_BENCH_LTTNG_PEER_H_
