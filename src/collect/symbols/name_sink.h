#ifndef SONDE_COLLECT_SYMBOLS_NAME_SINK_H_
#define SONDE_COLLECT_SYMBOLS_NAME_SINK_H_

#include <cstdint>
#include <string_view>

namespace sonde {

// The head of what the child of NameCode() writes to its pipe; a function and a
// file of these sizes follow. The reader believes nothing of it.
struct NameRecord {
  enum Kind : uint32_t {
    kBegin = 1,   // of the file `code`
    kPlace = 2,   // one more function of `place`; the outermost comes last
    kWhyNot = 3,  // the function is a sentence
    kEnd = 4,     // of the file
  };
  // Bytes; more are cut off.
  static constexpr uint32_t kMostText = 4096;
  // Functions that are one inside the other at a place; more are left out.
  static constexpr uint32_t kMostDepth = 64;

  uint32_t kind = 0;
  uint32_t code = 0;   // index in what was asked for
  uint32_t place = 0;  // index of the address
  uint32_t line = 0;
  uint32_t inlined = 0;
  uint32_t function_bytes = 0;
  uint32_t file_bytes = 0;
};

// Where one who reads debug information leaves the names of one file's places.
class NameSink {
 public:
  NameSink(int fd, uint32_t code) : fd_(fd), code_(code) {}

  void Begin() { Put({NameRecord::kBegin, code_}, {}, {}); }
  // The functions of a place one after the other, the innermost first.
  void Name(uint32_t place, std::string_view function, std::string_view file,
            uint32_t line, bool inlined) {
    Put({NameRecord::kPlace, code_, place, line, inlined}, function, file);
  }
  void WhyNot(std::string_view sentence) {
    Put({NameRecord::kWhyNot, code_}, sentence, {});
  }
  void End() { Put({NameRecord::kEnd, code_}, {}, {}); }

 private:
  void Put(NameRecord record, std::string_view function, std::string_view file);

  int fd_;
  uint32_t code_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_NAME_SINK_H_
