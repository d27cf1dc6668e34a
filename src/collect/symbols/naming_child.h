#ifndef SONDE_COLLECT_SYMBOLS_NAMING_CHILD_H_
#define SONDE_COLLECT_SYMBOLS_NAMING_CHILD_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "collect/symbols/name_sink.h"
#include "collect/symbols/named_code.h"

namespace sonde {

// The process that reads the debug information of files, one after the other,
// and the pipe on which it tells what it found.
//
// It has no privileges and may not get any; root's has another user. It uses
// kMostMemory more than we do, has the descriptors that it needs and no others,
// and ends with us. One thread.
class NamingChild {
 public:
  static constexpr uint64_t kMostMemory = uint64_t{4} << 30;

  // For the files from `first` on. Null if no process could be made.
  static std::unique_ptr<NamingChild> Start(
      const std::vector<CodeToName>& wanted, size_t first,
      const NamingLimits& limits);
  // Kills it.
  ~NamingChild();
  NamingChild(const NamingChild&) = delete;
  NamingChild& operator=(const NamingChild&) = delete;

  // What it tells next: a record, valid in itself, with its texts.
  struct Message {
    NameRecord record;
    std::string function, file;
  };
  enum class State {
    kMessage,  // here it is
    kLate,     // nothing came until then
    kEnded,    // it has ended, or tells nonsense
  };
  State Next(int64_t until_ns, Message& message);

  // Kills and waits for it. CPU time it has used.
  int64_t Stop();

 private:
  NamingChild(pid_t pid, Fd output) : pid_(pid), output_(std::move(output)) {}
  bool TakeMessage(Message& message, bool& nonsense);

  pid_t pid_;
  Fd output_;
  std::string bytes_;  // that came and were not taken
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_NAMING_CHILD_H_
