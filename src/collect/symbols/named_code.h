#ifndef SONDE_COLLECT_SYMBOLS_NAMED_CODE_H_
#define SONDE_COLLECT_SYMBOLS_NAMED_CODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace sonde {

class NameSink;

// A file, and the places in it that want a name.
struct CodeToName {
  std::string path;  // as the process called it
  // Hexadecimal digits. Needed where there is no `fd`: what is found at the
  // path is believed only if it has this very one.
  std::string build_id;
  int fd = -1;  // the file, open for reading; stays the caller's
  // Of instructions, in the terms of the file. Of a return address, one less:
  // it is behind the call, and may be of the next line or function.
  std::vector<uint64_t> addresses;
};

// A function that a place lies in. What is not known is empty or 0. All texts
// are printable, and limited.
struct PlaceName {
  static constexpr size_t kMostFunctionChars = 512;
  static constexpr size_t kMostFileChars = 1024;

  std::string function;  // as one writes it, not as a linker does
  std::string file;
  uint32_t line = 0;
  bool inlined = false;  // into the function of the next one

  bool operator==(const PlaceName&) const = default;
};

// What is known of the places of one file.
struct NamedCode {
  // For each address: the functions, the innermost first. Empty: none known.
  std::vector<std::vector<PlaceName>> places;
  // Why names are missing: a sentence without a full stop. Empty if all places
  // were looked up, found or not.
  std::string why_not;
};

// What naming gave, in the order of what was asked for, and what it cost.
struct CodeNames {
  std::vector<NamedCode> code;
  int64_t cpu_ns = 0;  // of the processes that did it
};

// How long naming may take, and who does it.
struct NamingLimits {
  int64_t all_ns = 10 * kNsPerSec;
  int64_t file_ns = 5 * kNsPerSec;
  // Tests put another in place of NameByDebugInfo().
  void (*name)(const CodeToName& code, NameSink& sink) = nullptr;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_NAMED_CODE_H_
