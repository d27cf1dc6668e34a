// Records as a test makes them up, and the annotations that take them.

#ifndef SONDE_TESTS_TOOLS_ANNOTATIONS_RECORDS_H_
#define SONDE_TESTS_TOOLS_ANNOTATIONS_RECORDS_H_

#include <gtest/gtest.h>
#include <sonde/abi.h>

#include "collect/ring/annotations.h"
#include "tools/trace_contents.h"

namespace sonde {

using Words = std::vector<uint64_t>;

inline Words Rec(uint8_t kind, uint64_t time, uint32_t id, uint16_t depth = 0,
                 const Words& behind = {}) {
  Words out = {
      time, RecordWord(id, kind, static_cast<uint8_t>(behind.size()), depth)};
  out.insert(out.end(), behind.begin(), behind.end());
  return out;
}

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Annotations of process 7, with a few names, that write a trace in memory.
struct AnnotationsTest : testing::Test {
  void SetUp() override {
    bytes = std::make_shared<std::string>();
    out = TraceWriter::CreateInMemory({}, bytes);
    said = New();
    step = Text("step");
    load = Text("load");
    RingName of_label;
    of_label.kind = NameKind::kLabel;
    of_label.name = step;
    of_label.category = Text("ml");
    of_label.color = 0xff00ff00;
    label = Define(of_label);
  }

  std::unique_ptr<Annotations> New() {
    Annotations::Options options;
    options.process = 7;
    options.name_process = [&](std::string_view name) { process_name = name; };
    options.look = [&](uint32_t id) -> std::optional<RingName> {
      return id - kFirstId < names.size() ? std::optional(names[id - kFirstId])
                                          : std::nullopt;
    };
    return std::make_unique<Annotations>(*out, std::move(options));
  }

  StateLimits Limits() const {
    return {out->strings(), out->tracks(), out->series(), out->groups(),
            out->losses()};
  }

  uint32_t Define(const RingName& name) {
    names.push_back(name);
    return kFirstId + static_cast<uint32_t>(names.size() - 1);
  }
  uint32_t Text(const std::string& text) {
    RingName name;
    name.text = text;
    return Define(name);
  }

  // A label of `step`.
  uint32_t LabelOf(uint32_t cls, uint32_t source) {
    RingName name;
    name.kind = NameKind::kLabel;
    name.name = step;
    name.cls = cls;
    name.source = source;
    return Define(name);
  }
  uint32_t TrackOf(uint32_t kind, uint32_t source, uint32_t parent = 0) {
    RingName name;
    name.kind = NameKind::kTrack;
    name.name = step;
    name.order = 7;
    name.parent = parent;
    name.track_kind = kind;
    name.source = source;
    return Define(name);
  }

  TraceContents Close() {
    CHECK(out->Close().ok());
    return TraceContents::OfBytes(bytes);
  }

  // The events of the only row of this kind.
  static std::vector<Event> OnlyRow(const TraceContents& trace,
                                    Track::Kind kind) {
    std::vector<Event> found;
    for (const auto& [id, track] : trace.tracks)
      if (track.kind == kind && trace.events.contains(id)) {
        EXPECT_TRUE(found.empty());
        found = trace.events.at(id);
      }
    return found;
  }

  std::shared_ptr<std::string> bytes;
  std::unique_ptr<TraceWriter> out;
  std::unique_ptr<Annotations> said;
  std::string process_name;
  static constexpr uint32_t kFirstId = 100;
  std::vector<RingName> names;
  uint32_t step = 0, load = 0, label = 0;
};

}  // namespace sonde

#endif  // SONDE_TESTS_TOOLS_ANNOTATIONS_RECORDS_H_
