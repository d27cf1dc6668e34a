#ifndef SONDE_COLLECT_SAMPLE_NAMED_PLACES_H_
#define SONDE_COLLECT_SAMPLE_NAMED_PLACES_H_

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collect/symbols/named_code.h"
#include "collect/unwind/code_file.h"

namespace sonde {

// A place of an instruction in a file that code runs from.
struct CodePlace {
  uint32_t file = 0;  // CodeFile::number()
  uint64_t address = 0;

  auto operator<=>(const CodePlace&) const = default;
};

// The functions around places, the innermost first, and what naming them cost.
struct NamedPlaces {
  std::map<CodePlace, std::vector<PlaceName>> names;
  int64_t cpu_ns = 0;
  std::string why_not;  // names are missing; as NamedCode::why_not
};

// Names places in files, sorted ones, as NameCode() does. A function of a
// stripped file is called by where it begins, so that all its places have one
// name: "libfast.so+0x1240". What is not even known of that has no entry.
// For processes of one thread: it forks.
NamedPlaces NamePlaces(CodeFiles& files, const std::vector<CodePlace>& places,
                       const NamingLimits& limits);

// Code that a process made while it ran, and belongs to no file.
struct MadeCode {
  pid_t pid = 0, own_pid = 0;
  uid_t owner = 0;
  const char* called = "";  // a function of it that has no name

  static MadeCode Of(pid_t pid);
  // What the process's runtime writes for perf; see PerfMap.
  std::string MapPath() const;
};

// One name for each address, by the map of the process that is not older than
// `since_ns` of CLOCK_REALTIME. `may_read` false: nobody has the time.
std::vector<PlaceName> NameMade(const MadeCode& made,
                                const std::vector<uint64_t>& addresses,
                                int64_t since_ns, bool may_read);

}  // namespace sonde

#endif  // SONDE_COLLECT_SAMPLE_NAMED_PLACES_H_
