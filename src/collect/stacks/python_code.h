#ifndef SONDE_COLLECT_STACKS_PYTHON_CODE_H_
#define SONDE_COLLECT_STACKS_PYTHON_CODE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/stacks/process_memory.h"
#include "collect/stacks/python_finder.h"

namespace sonde {

// What a code object says. The texts are printable.
struct PythonCode {
  // The head of a str: all that tells it from another at its address.
  using TextHead = std::array<uint8_t, 40>;

  uint64_t name_at = 0, file_at = 0, lines_at = 0;
  int first_line = 0;
  // Where its instructions lie; 0 bytes: not known.
  uint64_t instructions_at = 0, instructions_bytes = 0;
  uint64_t name_hash = 0;  // of its name without the class
  int64_t known_ns = 0;    // when it was last seen to be the same
  TextHead name_head = {}, file_head = {};
  std::string function, file;
  std::optional<std::vector<uint8_t>> lines;  // none: cannot be read

  // The line of the instruction that a frame is at; 0 if it has none.
  int LineOf(const PythonLayout& layout, uint64_t code_address,
             uint64_t instruction) const;
};

// The code objects of a process, by their addresses. An object that was seen
// before is known again by its fields and by the heads of its names, with two
// system calls for all that are asked for at once; an object that another one
// has replaced at its address is read anew. What was known of a process that
// has ended stays known. All are forgotten when they are too many. One thread.
class PythonCodes {
 public:
  static constexpr size_t kMost = 32 << 10;
  static constexpr size_t kMostBytes = 32 << 20;  // of tables of lines

  // In the order of `addresses`; null for one that is no code object. Valid
  // until the next call. What was known after `since_ns` is believed.
  const std::vector<const PythonCode*>& Find(
      ProcessMemory& memory, const FoundPython& python,
      std::span<const uint64_t> addresses, int64_t since_ns = INT64_MAX);

  // The object, of those that are known, whose instructions lie at `place`, and
  // its address. Null if there is none. Valid until the next Find().
  struct Found {
    const PythonCode* code = nullptr;
    uint64_t address = 0;
  };
  Found WithInstruction(uint64_t place) const;
  // The object at this address, if it is known; likewise.
  const PythonCode* Known(uint64_t address) const;

 private:
  void FindKnown(ProcessMemory& memory, const FoundPython& python,
                 std::span<const uint64_t> addresses);
  bool FindBelieved(std::span<const uint64_t> addresses, int64_t since_ns);
  const PythonCode* Read(ProcessMemory& memory, const FoundPython& python,
                         uint64_t address);

  std::unordered_map<uint64_t, PythonCode> known_;
  std::map<uint64_t, uint64_t> by_instructions_;  // to the object
  size_t bytes_ = 0;
  std::vector<const PythonCode*> found_;
  std::vector<uint8_t> buffer_;
  std::vector<ProcessMemory::Piece> pieces_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PYTHON_CODE_H_
