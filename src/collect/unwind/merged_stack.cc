#include "collect/unwind/merged_stack.h"

#include <algorithm>
#include <utility>

namespace sonde {
namespace {

// From this version on each call of the interpreter has a shim.
constexpr int kFirstShims = 12;
constexpr int kFirstEntries = 11;

// `all` by address.
bool LiesIn(const std::vector<ElfFile::Function>& all, uint64_t pc) {
  const auto next = std::upper_bound(
      all.begin(), all.end(), pc,
      [](uint64_t at, const ElfFile::Function& f) { return at < f.address; });
  return next != all.begin() && pc - next[-1].address < next[-1].bytes;
}

// Tells which native frames run Python, and which frames of it.
class Merger {
 public:
  Merger(std::span<const RawPythonFrame> python, const Interpreter& interpreter)
      : python_(python), interpreter_(interpreter) {}

  // How many of the frames that were not taken yet `frame` runs, shims
  // included; 0: it does not run Python.
  size_t RunBy(const NativeFrame& frame) const {
    if (interpreter_.minor < kFirstShims) {
      if (!LiesIn(interpreter_.eval, frame.pc) || next_ == python_.size())
        return 0;
      if (interpreter_.minor < kFirstEntries) return 1;
      return CountTo([](const RawPythonFrame& one) { return one.entry; });
    }
    const size_t count =
        CountTo([](const RawPythonFrame& one) { return one.shim; });
    // A shim lies on the stack of C, in the part of the function that runs it.
    return count > 0 && python_[next_ + count - 1].shim &&
                   python_[next_ + count - 1].address < frame.top
               ? count
               : 0;
  }
  // Takes so many frames, those that are no shims to `out`.
  void Take(size_t count, std::vector<MergedFrame>& out) {
    for (; count > 0 && next_ < python_.size(); --count)
      if (!python_[next_++].shim) out.push_back({true, taken_++});
  }
  size_t left() const { return python_.size() - next_; }
  bool IsOwn(const NativeFrame& frame) const {
    if (frame.file == nullptr || LiesIn(interpreter_.notable, frame.pc))
      return false;
    const std::string& path = frame.file->path();
    return path == interpreter_.library ||
           (interpreter_.is_program && path == interpreter_.program);
  }

 private:
  // Up to the first that `last` is true of, that one included.
  template <typename Last>
  size_t CountTo(Last last) const {
    const auto rest = python_.subspan(next_);
    const auto at = std::find_if(rest.begin(), rest.end(), last);
    return static_cast<size_t>(at - rest.begin()) + (at == rest.end() ? 0 : 1);
  }

  const std::span<const RawPythonFrame> python_;
  const Interpreter& interpreter_;
  size_t next_ = 0;
  uint32_t taken_ = 0;
};

}  // namespace

Interpreter InterpreterOf(const FoundPython& found, std::string program,
                          bool is_program) {
  return Interpreter{.minor = found.layout.minor,
                     .eval = found.eval,
                     .library = found.file,
                     .program = std::move(program),
                     .notable = found.notable,
                     .is_program = is_program};
}

void MergeStacks(const NativeStack& native,
                 std::span<const RawPythonFrame> python,
                 const Interpreter& interpreter, MergedStack& out) {
  out.frames.clear();
  Merger merger(python, interpreter);
  size_t outermost = 0;  // how many frames there were after the last of Python
  for (size_t i = 0; i < native.frames.size(); ++i) {
    const NativeFrame& frame = native.frames[i];
    if (const size_t count = merger.RunBy(frame)) {
      merger.Take(count, out.frames);
      outermost = out.frames.size();
    } else if (!merger.IsOwn(frame)) {
      out.frames.push_back({false, static_cast<uint32_t>(i)});
    }
  }
  out.complete = native.end == UnwindEnd::kComplete && merger.left() == 0;
  if (outermost > 0 && interpreter.is_program) out.frames.resize(outermost);
  merger.Take(merger.left(), out.frames);
}

size_t InnermostPart(const NativeStack& native,
                     std::span<const RawPythonFrame> python,
                     const Interpreter& interpreter) {
  const Merger merger(python, interpreter);
  for (size_t i = 0; i < native.frames.size(); ++i)
    if (merger.RunBy(native.frames[i]) > 0) return i + 1;
  return 0;
}

}  // namespace sonde
