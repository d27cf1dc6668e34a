#ifndef SONDE_STORE_STACK_NAMES_H_
#define SONDE_STORE_STACK_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "store/store.h"

namespace sonde {

// A function of a program, as people know it. Two frames of one function, file
// and module are of one function, whatever their lines.
struct Function {
  std::string name;         // "libm.so.6+0x1f0" if only the place is known
  std::string_view file;    // "" if not known
  std::string_view module;  // path; "" if the function is in none
  // "python", "native", "kernel" for what it does for others; "" if not known.
  std::string_view language;
};

// One function on a stack, and the line in it that was being executed; 0: not
// known.
struct StackPlace {
  uint32_t function = 0;  // index into StackNames::functions()
  uint32_t line = 0;
};

// The functions on the stacks of a trace. What the compiler put into another
// function is a place of its own. Views point into the store, which must live
// longer. One thread.
class StackNames {
 public:
  // Of a stack that says more, the callers beyond are left out.
  static constexpr size_t kMostPlaces = 4096;

  explicit StackNames(const Store& store) : store_(store) {}

  // The places of a stack, innermost first, into `out`, at most `most`; none
  // for a stack that is not known.
  void Of(uint32_t stack, std::vector<StackPlace>& out,
          size_t most = kMostPlaces);

  // The same of one frame, never none; good until the next call.
  const std::vector<StackPlace>& OfFrame(uint32_t frame);

  const std::vector<Function>& functions() const { return functions_; }

 private:
  StackPlace Place(Function function, uint32_t line);

  const Store& store_;
  std::vector<Function> functions_;
  // By name, file and module.
  std::map<std::tuple<std::string, std::string_view, std::string_view>,
           uint32_t>
      numbers_;
  std::unordered_map<uint32_t, std::vector<StackPlace>> frames_;
};

// Which of a stack's places its time is of, for people: the innermost function
// of Python, or if there is none the innermost function that is not the
// kernel's. `places` are not none.
size_t OwnPlace(const StackNames& names, const std::vector<StackPlace>& places);

// What a stack that is not known is called.
inline constexpr std::string_view kStackNotKnown = "stack not known";

// "parse (loader.py:31)"; the file without its folders, and no line if 0.
std::string CallPlace(const Function& function, uint32_t line);

// Who ran: "python3 (pid 7)", "worker (tid 8)". Names as the trace has them,
// not made harmless yet.
std::string NameProcess(const Store& store, uint32_t number);
// A thread and the process it is of.
struct ThreadName {
  std::string process, thread;
};
ThreadName NameThread(const Store& store, uint32_t number);

}  // namespace sonde

#endif  // SONDE_STORE_STACK_NAMES_H_
