#ifndef SONDE_COLLECT_UNWIND_PROCESS_CODE_H_
#define SONDE_COLLECT_UNWIND_PROCESS_CODE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/unwind/code_file.h"

namespace sonde {

// Where the code of one process comes from: its executable mappings.
//
//  - Read from /proc/PID/maps at the first question, after Changed(), and when
//  a
//    place is asked for that no mapping holds. The last so seldom that it takes
//    a fiftieth of our time at most, however long the file is.
//  - A file is opened when the first place in it is asked for.
//  - Of a process that is gone, what was known stays known.
//
// One thread. Does not keep the process, whose pid may be used again.
class ProcessCode {
 public:
  static constexpr size_t kMostMapsBytes = 32 << 20;

  ProcessCode(pid_t pid, CodeFiles& files) : pid_(pid), files_(files) {}
  // Of a process that was forked by the one of `parent`: has the mappings of
  // that one, until its own are read.
  ProcessCode(pid_t pid, const ProcessCode& parent)
      : pid_(pid), files_(parent.files_), parts_(parent.parts_) {}

  pid_t pid() const { return pid_; }
  CodeFiles& files() const { return files_; }

  // A place of code.
  struct Place {
    CodeFile* file =
        nullptr;           // null: of no file, as what a compiler made there
    uint64_t address = 0;  // in the terms of the file
  };
  // Nothing if no code is mapped there.
  std::optional<Place> Find(uint64_t pc);

  // Whether code is mapped there, as far as is known: nothing is read.
  bool Holds(uint64_t pc) { return Search(pc) != nullptr; }

  // It has mapped something, or runs another program.
  void Changed() { stale_ = true; }
  // How often the mappings were read.
  uint64_t readings() const { return readings_; }

 private:
  struct Part {
    Mapping mapping;  // without its path
    std::string path;
    bool opened = false;
    CodeFile* file = nullptr;
  };
  Part* Search(uint64_t pc);
  void Read();

  pid_t pid_;
  CodeFiles& files_;
  std::vector<Part> parts_;  // by address
  size_t last_ = 0;          // where the last place was
  bool stale_ = true;
  int64_t next_reading_ns_ = 0;
  uint64_t readings_ = 0;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_UNWIND_PROCESS_CODE_H_
