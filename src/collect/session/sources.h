#ifndef SONDE_COLLECT_SESSION_SOURCES_H_
#define SONDE_COLLECT_SESSION_SOURCES_H_

#include <span>
#include <string>

namespace sonde {

// What `sonde doctor` says of one source. If it does not work, `why` is the
// reason and `cure` the one command or setting that enables it.
struct SourceState {
  bool works = false;
  std::string why;
  std::string cure;
  std::string detail;  // if it works: what is read, e.g. "2 cores"
};

// One thing sonde can gather, and the test whether it can here and now.
struct SourceInfo {
  const char* name;
  const char* gathers;
  SourceState (*check)();
};

// Every source of this build, in the order users care.
std::span<const SourceInfo> Sources();

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_SOURCES_H_
