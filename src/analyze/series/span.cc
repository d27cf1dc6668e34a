#include "analyze/series/span.h"

#include <algorithm>
#include <charconv>

#include "base/time.h"

namespace sonde {
namespace {

template <typename T>
std::optional<T> Parse(const Store& store, const std::string& key) {
  const auto at = store.rows().meta.find(key);
  if (at == store.rows().meta.end()) return std::nullopt;
  const std::string& text = at->second;
  const char* const last = text.data() + text.size();
  T value = 0;
  const auto [end, failure] = std::from_chars(text.data(), last, value);
  if (failure != std::errc() || end != last || !(value >= 0) ||
      static_cast<double>(value) > kMaxValue)
    return std::nullopt;
  return value;
}

}  // namespace

int64_t Elapsed(int64_t from_ns, int64_t to_ns) {
  int64_t out;
  if (from_ns == kNoTime || to_ns == kNoTime ||
      __builtin_sub_overflow(to_ns, from_ns, &out))
    return 0;
  return std::max<int64_t>(out, 0);
}

MaybeNumber MetaNumber(const Store& store, const std::string& key) {
  return Parse<double>(store, key);
}

MaybeNs MetaNs(const Store& store, const std::string& key) {
  return Parse<int64_t>(store, key);
}

bool RunSpan::Bore(int64_t start_ns) const {
  // The command is forked a moment before the recording says it began. What is
  // watched has worked before.
  const int64_t slack_ns = watched ? 0 : kNsPerSec;
  return start_ns != kNoTime &&
         (start_ns >= begin_ns || (Elapsed(start_ns, begin_ns) > 0 &&
                                   Elapsed(start_ns, begin_ns) <= slack_ns));
}

}  // namespace sonde
