#include "collect/symbols/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <tuple>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"

namespace sonde {
namespace {

bool TakeHex(std::string_view& line, uint64_t& out) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(line.data(), line.data() + line.size(), out, 16);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ')
    return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()) + 1);
  return true;
}

// Takes ":12" off the end.
bool TakeNumber(std::string_view& text, uint32_t& out) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return false;
  const auto [end, error] =
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  text = text.substr(0, colon);
  return true;
}

// "JS:*parse /home/u/a.js:12:5", "LazyCompile:~parse /home/u/a.js:12": what is
// behind the first colon says how it was compiled.
PlaceName PlaceOf(std::string_view name) {
  PlaceName out;
  const size_t space = name.rfind(' ');
  const size_t colon = name.find(':');
  std::string_view file =
      space == std::string_view::npos ? "" : name.substr(space + 1);
  uint32_t line = 0, column = 0;
  if (colon < space && TakeNumber(file, column)) {
    if (!TakeNumber(file, line)) line = column;
    out.file = Printable(file, PlaceName::kMostFileChars);
    out.line = line;
    name = name.substr(colon + 1, space - colon - 1);
    name.remove_prefix(std::min(name.find_first_not_of("*~^+"), name.size()));
    if (name.empty()) name = "(anonymous)";
  }
  out.function = Printable(name, PlaceName::kMostFunctionChars);
  return out;
}

std::optional<std::string> ReadPlainFile(const std::string& path, uid_t owner,
                                         int64_t since_ns) {
  const Fd fd = OpenRegular(AT_FDCWD, path.c_str(), O_RDONLY | O_NOFOLLOW);
  struct stat st = {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0 ||
      (st.st_uid != owner && st.st_uid != 0) ||
      st.st_mtim.tv_sec * kNsPerSec + st.st_mtim.tv_nsec < since_ns ||
      static_cast<uint64_t>(st.st_size) > PerfMap::kMostBytes)
    return std::nullopt;
  // It may grow meanwhile: no more than it had.
  std::string text(static_cast<size_t>(st.st_size), '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + got, text.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  text.resize(got);
  return text;
}

}  // namespace

std::optional<PerfMap> PerfMap::Of(pid_t pid, pid_t own_pid, uid_t owner,
                                   int64_t since_ns) {
  // Of a process that is gone, only our own /tmp is left.
  for (const std::string& path :
       {fmt::format("/proc/{}/root/tmp/perf-{}.map", pid, own_pid),
        fmt::format("/tmp/perf-{}.map", pid)})
    if (auto text = ReadPlainFile(path, owner, since_ns))
      return PerfMap(std::move(*text));
  return std::nullopt;
}

PerfMap::PerfMap(std::string text) : text_(std::move(text)) {
  std::string_view rest = text_;
  while (!rest.empty() && entries_.size() < kMostEntries) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    uint64_t begin = 0, size = 0;
    if (!TakeHex(line, begin) || !TakeHex(line, size) || line.empty() ||
        size == 0 || begin + size < begin)
      continue;
    Entry entry;
    entry.begin = begin;
    entry.end = begin + size;
    entry.order = static_cast<uint32_t>(entries_.size());
    entry.name = static_cast<uint32_t>(line.data() - text_.data());
    entry.name_size = static_cast<uint32_t>(line.size());
    entries_.push_back(entry);
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) {
              return std::tie(a.begin, a.order) < std::tie(b.begin, b.order);
            });
}

PlaceName PerfMap::At(uint64_t pc) const {
  // What was compiled over it may begin a little before.
  constexpr int kMostBack = 16;
  auto at = std::upper_bound(
      entries_.begin(), entries_.end(), pc,
      [](uint64_t a, const Entry& entry) { return a < entry.begin; });
  const Entry* best = nullptr;
  for (int i = 0; i < kMostBack && at != entries_.begin(); ++i) {
    --at;
    if (pc < at->end && (best == nullptr || at->order > best->order))
      best = &*at;
  }
  return best == nullptr ? PlaceName()
                         : PlaceOf(std::string_view(text_).substr(
                               best->name, best->name_size));
}

}  // namespace sonde
