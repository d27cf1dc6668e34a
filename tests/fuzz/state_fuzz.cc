// Any bytes as the state that a dead collector left in its session's directory,
// and a target's ring to go on with.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "collect/ring/rings_state.h"
#include "collect/ring/target_ring.h"
#include "collect/tree/recorded_tree.h"
#include "trace/copy.h"

namespace sonde {
namespace {

Fd Memory(size_t bytes) {
  Fd fd(::memfd_create("ring", 0));
  CHECK(fd.valid() && ::ftruncate(fd.get(), off_t(bytes)) == 0);
  return fd;
}

Fd EmptyRing() {
  Fd ring = Memory((kFirstBlockChunk + 1) * kChunkBytes);
  RingHeader header = {};
  header.magic = kRingMagic;
  header.version = kRingVersion;
  header.chunks = kFirstBlockChunk + 1;
  CHECK(::pwrite(ring.get(), &header, sizeof(header), 0) == sizeof(header));
  return ring;
}

void GoOn(const std::string& state) {
  const auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory(FileHeader{}, bytes);
  for (const char* text : {"a", "b", "c", "d"}) out->Intern(text);
  for (int i = 0; i < 4; ++i) out->AddTrack({});
  Series series;
  series.group = out->AddGroup();
  for (int i = 0; i < 3; ++i) out->AddSeries(series);
  out->AddLoss({});
  const StateLimits limits = {out->strings(), out->tracks(), out->series(),
                              out->groups(), out->losses()};

  const auto none = std::make_shared<std::string>();
  CHECK(TraceWriter::CreateInMemory(FileHeader{}, none)->Close().ok());
  const TraceReader reader = TraceReader::OpenBytes(none, "none").Take();
  RecordedTree tree(*out, AllRows(reader), Copied{});
  TargetRing ring(EmptyRing(), Memory(kTailsBytes), "ring", *out, tree,
                  nullptr);
  StateArchive archive(state, limits);
  ring.Archive(archive);
  if (archive.ok()) ring.Finish(kNoTime);
  CHECK(out->Close().ok());
  CHECK(TraceReader::OpenBytes(bytes, "made").Take().damages().empty());
}

}  // namespace
}  // namespace sonde

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  // A whole state, or that of one ring.
  const auto state = sonde::RingsState::Decode(input);
  if (state)
    for (const auto& [name, ring] : state->rings) sonde::GoOn(ring);
  else
    sonde::GoOn(input);
  return 0;
}
