#include "collect/unwind/process_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/fd.h"
#include "base/time.h"

namespace sonde {
namespace {

constexpr int64_t kLeastPauseNs = 50 * kNsPerMs;
constexpr int64_t kPausePerReading = 50;

}  // namespace

// Files that were open stay open; which one is mapped where may have changed.
void ProcessCode::Read() {
  const int64_t from_ns = NowNs();
  stale_ = false;
  ++readings_;
  const auto text =
      ReadFile(fmt::format("/proc/{}/maps", pid_), kMostMapsBytes);
  // What is gone has none, or an empty file.
  if (text.ok() && !text.value().empty()) {
    std::map<uint64_t, Part> known;
    for (Part& part : parts_)
      if (part.opened) known.emplace(part.mapping.begin, std::move(part));
    parts_.clear();
    last_ = 0;
    for (const Mapping& mapping : ParseMaps(text.value())) {
      if (!mapping.executable) continue;
      Part part;
      part.mapping = mapping;
      part.mapping.path = {};
      part.path = mapping.path;
      if (const auto same = known.find(mapping.begin);
          same != known.end() && same->second.path == part.path &&
          same->second.mapping.inode == mapping.inode &&
          same->second.mapping.offset == mapping.offset && mapping.inode != 0) {
        part.opened = true;
        part.file = same->second.file;
      }
      parts_.push_back(std::move(part));
    }
    // The kernel's order is this one; another would be somebody's joke.
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return a.mapping.begin < b.mapping.begin;
    });
  }
  const int64_t now_ns = NowNs();
  next_reading_ns_ =
      now_ns + std::max(kLeastPauseNs, kPausePerReading * (now_ns - from_ns));
}

ProcessCode::Part* ProcessCode::Search(uint64_t pc) {
  const auto holds = [pc](const Part& part) {
    return pc >= part.mapping.begin && pc < part.mapping.end;
  };
  if (last_ < parts_.size() && holds(parts_[last_])) return &parts_[last_];
  auto after = std::upper_bound(
      parts_.begin(), parts_.end(), pc,
      [](uint64_t at, const Part& part) { return at < part.mapping.begin; });
  if (after == parts_.begin() || !holds(*--after)) return nullptr;
  last_ = static_cast<size_t>(after - parts_.begin());
  return &*after;
}

std::optional<ProcessCode::Place> ProcessCode::Find(uint64_t pc) {
  if (stale_) Read();
  Part* part = Search(pc);
  if (part == nullptr && NowNs() >= next_reading_ns_) {
    Read();
    part = Search(pc);
  }
  if (part == nullptr) return std::nullopt;
  if (!part->opened) {
    part->opened = true;
    Mapping mapping = part->mapping;
    mapping.path = part->path;
    part->file = files_.Of(pid_, mapping);
  }
  if (part->file == nullptr) return Place{nullptr, pc};
  return Place{part->file, part->file->AddressOf(part->mapping, pc)};
}

}  // namespace sonde
