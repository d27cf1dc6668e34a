// profile.proto, packed in gzip's form: what `pprof` and many services read.
// Page: docs/formats/pprof.md.

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <unordered_map>

#include "base/version.h"
#include "export/exporter.h"
#include "export/gzip.h"
#include "export/output.h"
#include "export/protobuf.h"
#include "export/stack_rows.h"
#include "store/stack_names.h"
#include "store/stack_sums.h"

namespace sonde {
namespace {

// The fields of github.com/google/pprof/proto/profile.proto, by message.
enum : uint32_t {
  kProfileSampleType = 1,
  kProfileSample = 2,
  kProfileMapping = 3,
  kProfileLocation = 4,
  kProfileFunction = 5,
  kProfileString = 6,
  kProfileTime = 9,
  kProfileDuration = 10,
  kProfilePeriodType = 11,
  kProfileComment = 13,
  kProfileDefaultType = 14,
};
enum : uint32_t { kTypeType = 1, kTypeUnit = 2 };
enum : uint32_t { kSampleLocations = 1, kSampleValues = 2, kSampleLabel = 3 };
enum : uint32_t { kLabelKey = 1, kLabelText = 2, kLabelNumber = 3 };
enum : uint32_t {
  kMappingId = 1,
  kMappingFile = 5,
  kMappingBuildId = 6,
  kMappingHasFunctions = 7,
  kMappingHasFiles = 8,
  kMappingHasLines = 9,
  kMappingHasInlines = 10,
};
enum : uint32_t {
  kLocationId = 1,
  kLocationMapping = 2,
  kLocationAddress = 3,
  kLocationLine = 4
};
enum : uint32_t { kLineFunction = 1, kLineNumber = 2 };
enum : uint32_t {
  kFunctionId = 1,
  kFunctionName = 2,
  kFunctionSystemName = 3,
  kFunctionFile = 4
};

// Ids begin at 1. The first location and the first function stand for a stack
// that is not known; the others follow, each frame of the trace a location.
constexpr uint64_t kNotKnownId = 1;

class PprofWriter {
 public:
  PprofWriter(const Store& store, Output& file)
      : store_(store), names_(store), file_(file), out_(file) {
    strings_.Of("");  // the first must be
  }

  // `sums` by thread. Rows that refer to others come first: what they refer to
  // is known then.
  void Write(const std::vector<StackSum>& sums) {
    Put(kProfileSampleType, Type("samples", "count"));
    Put(kProfileSampleType, Type("cpu", "nanoseconds"));
    Put(kProfilePeriodType, Type("cpu", "nanoseconds"));
    for (const StackSum& sum : sums) {
      if (file_.failed()) return;
      Sample(sum);
    }
    Locations();
    Functions();
    Mappings();
    const TimeRange range = store_.range();
    Number(kProfileTime,
           static_cast<uint64_t>(store_.RealtimeOf(range.begin_ns)));
    Number(kProfileDuration, static_cast<uint64_t>(range.end_ns) -
                                 static_cast<uint64_t>(range.begin_ns));
    Number(kProfileDefaultType, strings_.Of("cpu"));
    Comment(fmt::format("sonde {}", kSondeVersion));
    for (const Loss& loss : store_.losses()) {
      if (++comments_ > kMostComments) break;
      Comment("lost: " + loss.reason + ": " + loss.detail);
    }
    for (const std::string* text : strings_.rows()) Put(kProfileString, *text);
    out_.End();
  }

 private:
  static constexpr size_t kMostComments = 100;

  void Put(uint32_t field, std::string_view message) {
    row_.Clear();
    row_.Bytes(field, message);
    out_.Write(row_.bytes());
  }
  void Number(uint32_t field, uint64_t value) {
    row_.Clear();
    row_.Number(field, value);
    out_.Write(row_.bytes());
  }
  void Comment(const std::string& text) {
    Number(kProfileComment, strings_.Of(text));
  }

  std::string Type(std::string_view type, std::string_view unit) {
    ProtoMessage out;
    out.Number(kTypeType, strings_.Of(type));
    out.Number(kTypeUnit, strings_.Of(unit));
    return out.bytes();
  }

  void Sample(const StackSum& sum) {
    ProtoMessage message, packed;
    uint32_t stack = sum.stack;
    // A file can say that a stack was called from itself.
    for (size_t i = 0; i < StackNames::kMostPlaces; ++i) {
      const StackNode* const node = store_.stacks().Find(stack);
      if (node == nullptr) break;
      packed.Varint(LocationOf(node->frame));
      stack = node->parent;
    }
    if (packed.bytes().empty()) packed.Varint(kNotKnownId);
    message.Bytes(kSampleLocations, packed.bytes());
    packed.Clear();
    packed.Varint(sum.running);
    packed.Varint(sum.running_ns);
    message.Bytes(kSampleValues, packed.bytes());
    for (const std::string& one : LabelsOf(sum.thread))
      message.Bytes(kSampleLabel, one);
    Put(kProfileSample, message.bytes());
  }

  // The same for all samples of a thread, which follow each other.
  const std::vector<std::string>& LabelsOf(uint32_t number) {
    if (number == labelled_) return labels_;
    labelled_ = number;
    labels_.clear();
    const auto add = [&](std::string_view key, std::string_view text,
                         int64_t value) {
      ProtoMessage out;
      out.Number(kLabelKey, strings_.Of(key));
      out.Number(kLabelText, text.empty() ? 0 : strings_.Of(text));
      out.Number(kLabelNumber, static_cast<uint64_t>(value));
      labels_.push_back(out.bytes());
    };
    const ThreadName name = NameThread(store_, number);
    add("process", name.process, 0);
    add("thread", name.thread, 0);
    const auto thread = store_.threads().find(number);
    if (thread == store_.threads().end()) return labels_;
    add("tid", "", thread->second.tid);
    const auto process = store_.processes().find(thread->second.process);
    if (process != store_.processes().end())
      add("pid", "", process->second.pid);
    return labels_;
  }

  uint64_t LocationOf(uint32_t frame) {
    const auto [at, fresh] =
        locations_.try_emplace(frame, kNotKnownId + 1 + frames_.size());
    if (fresh) frames_.push_back(frame);
    return at->second;
  }

  void Locations() {
    ProtoMessage message, place_message;
    const auto begin = [&](uint64_t id) {
      message.Clear();
      message.Number(kLocationId, id);
    };
    const auto add_line = [&](uint64_t function, uint32_t number) {
      place_message.Clear();
      place_message.Number(kLineFunction, function);
      place_message.Number(kLineNumber, number);
      message.Bytes(kLocationLine, place_message.bytes());
    };
    begin(kNotKnownId);
    add_line(kNotKnownId, 0);
    Put(kProfileLocation, message.bytes());
    for (size_t i = 0; i < frames_.size() && !file_.failed(); ++i) {
      begin(kNotKnownId + 1 + i);
      const StackFrame* const frame = store_.frames().Find(frames_[i]);
      if (frame != nullptr && frame->module != 0) {
        message.Number(kLocationMapping, MappingOf(frame->module));
        message.Number(kLocationAddress, frame->offset);
      }
      // The innermost first, as it must be here.
      for (const StackPlace& place : names_.OfFrame(frames_[i]))
        add_line(kNotKnownId + 1 + place.function, place.line);
      Put(kProfileLocation, message.bytes());
    }
  }

  void Functions() {
    ProtoMessage message;
    const auto put = [&](uint64_t id, std::string_view name,
                         std::string_view file) {
      message.Clear();
      message.Number(kFunctionId, id);
      message.Number(kFunctionName, strings_.Of(name));
      message.Number(kFunctionSystemName, strings_.Of(name));
      message.Number(kFunctionFile, strings_.Of(file));
      Put(kProfileFunction, message.bytes());
    };
    put(kNotKnownId, kStackNotKnown, "");
    for (size_t i = 0; i < names_.functions().size(); ++i)
      put(kNotKnownId + 1 + i, names_.functions()[i].name,
          names_.functions()[i].file);
  }

  uint64_t MappingOf(uint32_t module) {
    return mappings_.try_emplace(module, mappings_.size() + 1).first->second;
  }

  // Where a module lay is not known: addresses are those in the module.
  void Mappings() {
    const auto& modules = store_.rows().Of<Module>();
    for (const auto& [number, id] : mappings_) {
      const auto at = modules.find(number);
      const Module row = at == modules.end() ? Module{} : at->second;
      ProtoMessage message;
      message.Number(kMappingId, id);
      message.Number(kMappingFile, strings_.Of(store_.Str(row.path)));
      message.Number(kMappingBuildId, strings_.Of(store_.Str(row.build_id)));
      for (const uint32_t has : {kMappingHasFunctions, kMappingHasFiles,
                                 kMappingHasLines, kMappingHasInlines})
        message.Number(has, 1);
      Put(kProfileMapping, message.bytes());
    }
  }

  const Store& store_;
  StackNames names_;
  Output& file_;
  StoredGzip out_;
  StringRows strings_;
  uint32_t labelled_ = UINT32_MAX;  // the thread of labels_
  std::vector<std::string> labels_;
  std::unordered_map<uint32_t, uint64_t> locations_;  // by frame
  std::vector<uint32_t> frames_;           // of the locations, from the second
  std::map<uint32_t, uint64_t> mappings_;  // by module
  size_t comments_ = 0;
  ProtoMessage row_;
};

}  // namespace

Result<ExportSummary> ExportPprof(const Store& store,
                                  const ExportOptions& options) {
  TRY(std::vector<StackSum> sums, RunningStacks(store));
  SortByThread(sums);
  TRY(auto out, Output::Create(options.output, options));
  PprofWriter(store, *out).Write(sums);
  ExportSummary summary;
  for (const StackSum& sum : sums) summary.samples += sum.running;
  summary.bytes = out->bytes();
  TRY_OK(out->Commit());
  return summary;
}

}  // namespace sonde
