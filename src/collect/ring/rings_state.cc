#include "collect/ring/rings_state.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "trace/frame.h"

namespace sonde {
namespace {

constexpr const char* kNames[] = {"state.0", "state.1"};
constexpr uint64_t kMagic = 0x6174732d646e6f73;  // "sond-sta"
constexpr uint32_t kVersion = 1;
constexpr size_t kMostBytes = 256 << 20;

// A file is the magic, the version, a number that grows, a state, a checksum.
struct Stored {
  uint64_t sequence = 0;
  std::string state;
};

std::optional<Stored> LoadOne(int dir, const char* name) {
  const Fd fd = OpenRegular(dir, name, O_RDONLY);
  if (!fd.valid()) return std::nullopt;
  const auto text = ReadFd(fd.get(), name, kMostBytes);
  if (!text.ok() || text.value().size() < 24) return std::nullopt;
  const std::string_view bytes = text.value();
  const std::string_view body = bytes.substr(0, bytes.size() - 4);
  ByteReader in(bytes), end(bytes.substr(body.size()));
  if (in.U64() != kMagic || in.U32() != kVersion || end.U32() != Checksum(body))
    return std::nullopt;
  Stored stored;
  stored.sequence = in.U64();
  stored.state = body.substr(20);
  return stored;
}

}  // namespace

std::string BootId() {
  const auto text = ReadFile("/proc/sys/kernel/random/boot_id");
  return text.ok() ? text.value() : "";
}

std::string RingsState::Encode() {
  StateArchive archive;
  Archive(archive);
  return archive.Take();
}

std::optional<RingsState> RingsState::Decode(std::string_view bytes) {
  RingsState state;
  StateArchive archive(bytes, {});
  state.Archive(archive);
  if (!archive.ok() || !archive.AtEnd()) return std::nullopt;
  return state;
}

void RingsState::Archive(StateArchive& archive) {
  archive.Text(boot);
  archive.Flag(ticks);
  archive.Each(clock, [&](TickClock::Pair& pair) {
    archive.Number(pair.ticks);
    archive.Time(pair.ns);
  });
  archive.Numbers(have.strings, have.tracks, have.series, have.groups,
                  have.losses);
  for (auto* counts_of : {&events, &counts})
    archive.Each(*counts_of, [&](auto& entry) {
      archive.Numbers(entry.first, entry.second);
    });
  archive.Each(ended, [&](std::string& name) { archive.Text(name); });
  archive.Number(ended_records);
  archive.Each(rings, [&](auto& entry) {
    archive.Text(entry.first);
    archive.Text(entry.second);
  });
}

void RingsStateFile::Save(RingsState& state) {
  ByteWriter out;
  out.U64(kMagic);
  out.U32(kVersion);
  out.U64(++sequence_);
  const std::string bytes = state.Encode();
  out.Raw(bytes.data(), bytes.size());
  out.U32(Checksum(out.bytes()));
  const std::string file = out.Take();
  const Fd fd = OpenRegular(dir_, kNames[sequence_ % 2],
                            O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd.valid() && WriteAll(fd.get(), file.data(), file.size()) == 0) return;
  for (const char* name : kNames) ::unlinkat(dir_, name, 0);
}

std::optional<RingsState> RingsStateFile::Load(int dir) {
  std::optional<Stored> newest;
  for (const char* name : kNames)
    if (auto one = LoadOne(dir, name);
        one && (!newest || one->sequence > newest->sequence))
      newest = std::move(one);
  return newest ? RingsState::Decode(newest->state) : std::nullopt;
}

}  // namespace sonde
