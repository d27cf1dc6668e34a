// A collector for tests: a session directory, and everything that targets put
// there, drained.

#ifndef SONDE_TESTS_TOOLS_RING_SESSION_H_
#define SONDE_TESTS_TOOLS_RING_SESSION_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/fd.h"
#include "collect/ring/ring_reader.h"

namespace sonde {

// Counts what arrives, and hands it on if somebody wants it.
struct CountingSink : RingSink {
  void Records(const RingThread& thread,
               std::span<const uint64_t> words) override {
    if (on_records) on_records(thread, words);
  }
  void Lost(const RingThread&, const RingLoss& loss) override {
    lost += loss.count;
    damaged += loss.bytes;
  }
  void Ended(const RingThread&) override { ++ended; }

  std::function<void(const RingThread&, std::span<const uint64_t>)> on_records;
  uint64_t lost = 0;  // that no record told
  uint64_t damaged = 0;
  uint64_t ended = 0;
};

// One process's ring in a session.
struct RingOfTarget {
  Fd ring, tails;
  RingReader reader;
  TailsWriter writer;
  CountingSink sink;
  std::string path;
  uint64_t most_bytes = 0;  // allocated

  RingOfTarget(Fd r, Fd t)
      : ring(std::move(r)),
        tails(std::move(t)),
        reader(ring.get()),
        writer(tails.get()) {}
};

// Made by one process, which is then the collector. The directory goes away
// with the object.
class RingSession {
 public:
  explicit RingSession(const std::string& base = "/dev/shm",
                       WireClock clock = WireClock::kTicks) {
    std::string name = base + "/sonde-test-XXXXXX";
    CHECK(::mkdtemp(name.data()));
    path = name;
    const Fd fd(::open((path + "/control").c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    std::string page(kControlBytes, '\0');
    const ControlPage control = {
        kControlMagic, kRingVersion, static_cast<uint32_t>(clock), 1, 0, 7};
    std::memcpy(page.data(), &control, sizeof(control));
    CHECK(WriteAll(fd.get(), page.data(), page.size()) == 0);
  }
  RingSession(const RingSession&) = delete;
  RingSession& operator=(const RingSession&) = delete;
  ~RingSession() {
    if (owner_ == ::getpid()) std::filesystem::remove_all(path);
  }

  void SetRecording(bool on) {
    const Fd fd(::open((path + "/control").c_str(), O_WRONLY | O_CLOEXEC));
    const uint32_t word = on;
    CHECK(::pwrite(fd.get(), &word, 4, offsetof(ControlPage, recording)) == 4);
  }

  // Takes in the files that are new.
  void Find() {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string name = entry.path().string();
      if (!name.ends_with(".ring") || rings.contains(name)) continue;
      const std::string stem = name.substr(0, name.size() - 5);
      auto one = std::make_unique<RingOfTarget>(
          Fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC)),
          Fd(::open((stem + ".tails").c_str(), O_WRONLY | O_CLOEXEC)));
      one->path = name;
      one->sink.on_records = on_records;
      if (one->reader.Open()) rings.emplace(name, std::move(one));
    }
  }

  // One pass over all rings. Returns the bytes of records.
  size_t Drain(bool publish = true) {
    size_t bytes = 0;
    for (auto& [name, one] : rings) {
      bytes += one->reader.Read(one->sink);
      const auto drained = one->reader.TakeDrained();
      if (publish && !drained.empty()) one->writer.Publish(drained);
    }
    return bytes;
  }

  void Finish() {
    Find();
    for (auto& [name, one] : rings) one->reader.Finish(one->sink);
  }

  uint64_t records() const {
    uint64_t sum = 0;
    for (const auto& [name, one] : rings) sum += one->reader.records();
    return sum;
  }
  uint64_t lost() const {
    uint64_t sum = 0;
    for (const auto& [name, one] : rings) sum += one->reader.lost();
    return sum;
  }
  uint64_t damaged() const {
    uint64_t sum = 0;
    for (const auto& [name, one] : rings) sum += one->sink.damaged;
    return sum;
  }

  std::string path;
  std::map<std::string, std::unique_ptr<RingOfTarget>> rings;
  // Given to the rings found later.
  std::function<void(const RingThread&, std::span<const uint64_t>)> on_records;

 private:
  pid_t owner_ = ::getpid();
};

}  // namespace sonde

#endif  // SONDE_TESTS_TOOLS_RING_SESSION_H_
