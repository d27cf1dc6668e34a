#ifndef SONDE_EXPORT_CHROME_EVENTS_H_
#define SONDE_EXPORT_CHROME_EVENTS_H_

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "export/json_text.h"
#include "export/output.h"
#include "store/store.h"

namespace sonde {

// Strings of the trace as JSON, without a copy of those that are plain.
class JsonNames {
 public:
  explicit JsonNames(const Store& store)
      : store_(store), known_(store.strings().near_ids(), kUnknown) {}

  // Valid until the next call with the same `scratch`.
  std::string_view Of(uint32_t id, std::string& scratch) {
    const std::string_view text = store_.Str(id);
    if (id < known_.size() && known_[id] == kPlain) return text;
    return Slow(id, text, scratch);
  }

 private:
  enum : uint8_t { kUnknown, kPlain, kEscaped };

  std::string_view Slow(uint32_t id, std::string_view text,
                        std::string& scratch) {
    if (IsPlainJson(text)) {
      if (id < known_.size()) known_[id] = kPlain;
      return text;
    }
    scratch.clear();
    AppendJson(text, scratch);
    return scratch;
  }

  const Store& store_;
  std::vector<uint8_t> known_;
};

// Writes the elements of `traceEvents`, one a line. Times are given on the
// trace's clock and written as microseconds since the trace's begin, with all
// nanoseconds kept.
class ChromeEvents {
 public:
  ChromeEvents(Output& out, int64_t base_ns) : out_(out), base_ns_(base_ns) {}

  // What one row's slices have in common, up to the name.
  static std::string SlicePrefix(uint32_t pid, uint32_t tid);

  // The hot path. `name` and `category` are escaped already; `args` is a whole
  // object or empty.
  void Slice(std::string_view prefix, std::string_view name,
             std::string_view category, int64_t begin_ns, int64_t end_ns,
             std::string_view args) {
    char* at = out_.Room(prefix.size() + name.size() + category.size() + 128);
    at = Copy(at, prefix);
    at = Copy(at, name);
    at = Copy(at, "\",\"cat\":\"");
    at = Copy(at, category);
    at = Copy(at, "\",\"ts\":");
    const uint64_t begin = Relative(begin_ns);
    at = Micros(at, begin);
    at = Copy(at, ",\"dur\":");
    at = Micros(at, Relative(end_ns) - begin);
    if (!args.empty()) {
      at = Copy(at, ",\"args\":");
      out_.Advance(at);
      out_.Text(args);
      at = out_.Room(1);
    }
    *at++ = '}';
    out_.Advance(at);
  }

  // `scope` is one of g, p, t.
  void Instant(uint32_t pid, uint32_t tid, char scope, std::string_view name,
               std::string_view category, int64_t time_ns,
               std::string_view args);
  // `name` and `key` are escaped; `number` is JSON.
  void Counter(uint32_t pid, std::string_view name, std::string_view key,
               int64_t time_ns, std::string_view number);
  // ph "s" or "f".
  void Flow(char phase, uint32_t id, uint32_t pid, uint32_t tid,
            int64_t time_ns);
  // A metadata event; `value` is JSON. tid 0: it is about the process.
  void Meta(std::string_view what, uint32_t pid, uint32_t tid,
            std::string_view key, std::string_view value);

  // Nanoseconds since the begin, for times outside the recording clamped.
  uint64_t Relative(int64_t ns) const {
    if (ns <= base_ns_) return 0;
    return std::min(static_cast<uint64_t>(ns) - static_cast<uint64_t>(base_ns_),
                    uint64_t{4'000'000'000'000'000'000});
  }

 private:
  static char* Copy(char* at, std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
  }
  static char* Micros(char* at, uint64_t ns) {
    at = std::to_chars(at, at + 20, ns / 1000).ptr;
    const uint32_t rest = static_cast<uint32_t>(ns % 1000);
    *at++ = '.';
    *at++ = static_cast<char>('0' + rest / 100);
    *at++ = static_cast<char>('0' + rest / 10 % 10);
    *at++ = static_cast<char>('0' + rest % 10);
    return at;
  }
  void Put(const std::string& event);

  Output& out_;
  int64_t base_ns_;
  std::string scratch_;
  bool first_ = true;
};

}  // namespace sonde

#endif  // SONDE_EXPORT_CHROME_EVENTS_H_
