// JSON for speedscope (speedscope.app): a profile of samples for each thread.
// Page: docs/formats/speedscope.md.
//
//     {"profiles":[
//     {"type":"sampled",...,
//     "samples":[[0,1],...],     frames from the outermost in, sample by sample
//     "weights":[5000000,...]}   nanoseconds
//     ],"shared":{"frames":[...]}}

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "export/exporter.h"
#include "export/json_text.h"
#include "export/output.h"
#include "export/stack_rows.h"
#include "store/stack_names.h"
#include "store/stack_sums.h"

namespace sonde {
namespace {

using Samples = std::span<const RunningSample>;

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Store& store, Output& out)
      : store_(store), names_(store), out_(out) {}

  void Write(Samples samples) {
    out_.Text(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
        "\"profiles\":[");
    size_t profiles = 0, hottest = 0;
    uint64_t most = 0;
    while (!samples.empty() && !out_.failed()) {
      const auto end = std::find_if(samples.begin(), samples.end(),
                                    [&](const RunningSample& s) {
                                      return s.thread != samples[0].thread;
                                    });
      const auto count = static_cast<size_t>(end - samples.begin());
      if (profiles > 0) out_.Text(",");
      if (const uint64_t ns = Profile(samples.first(count)); ns > most) {
        most = ns;
        hottest = profiles;
      }
      ++profiles;
      samples = samples.subspan(count);
    }
    out_.Text("\n],\"shared\":{\"frames\":[");
    Frames();
    out_.Text(fmt::format(
        "\n]}},\"activeProfileIndex\":{},\"exporter\":\"sonde\",\"name\":",
        hottest));
    out_.Text(Quoted(store_.path()) + "}\n");
  }

 private:
  static std::string Quoted(std::string_view text) {
    std::string out;
    AppendQuoted(Printable(text, kMaxStackName), out);
    return out;
  }

  // Samples of one stack that follow each other are one. Returns their time.
  uint64_t Profile(Samples samples) {
    const ThreadName thread = NameThread(store_, samples[0].thread);
    out_.Text("\n{\"type\":\"sampled\",\"name\":");
    out_.Text(Quoted(thread.process + " " + thread.thread));
    out_.Text(",\"unit\":\"nanoseconds\",\"startValue\":0,\n\"samples\":[");
    for (size_t i = 0; i < samples.size() && !out_.failed(); ++i)
      if (i == 0 || samples[i].stack != samples[i - 1].stack)
        Stack(samples[i].stack, i == 0);
    out_.Text("],\n\"weights\":[");
    uint64_t all = 0, weight = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      all += samples[i].weight_ns;
      weight += samples[i].weight_ns;
      const bool last = i + 1 == samples.size();
      if (!last && samples[i].stack == samples[i + 1].stack) continue;
      out_.Text(fmt::format("{}{}", weight, last ? "" : ","));
      weight = 0;
    }
    out_.Text(fmt::format("],\n\"endValue\":{}}}", all));
    return all;
  }

  void Stack(uint32_t stack, bool first) {
    names_.Of(stack, places_);
    if (places_.empty()) places_.push_back(kNoPlace);
    text_ = first ? "[" : ",[";
    for (size_t i = places_.size(); i-- > 0;)
      fmt::format_to(std::back_inserter(text_), "{}{}", frames_.Of(places_[i]),
                     i > 0 ? "," : "]");
    out_.Text(text_);
  }

  void Frames() {
    const char* comma = "\n";
    for (const StackPlace& place : frames_.rows()) {
      const bool known = place.function != kNoPlace.function;
      const Function function =
          known ? names_.functions()[place.function]
                : Function{std::string(kStackNotKnown), "", "", ""};
      text_ = comma;
      text_ += "{\"name\":" + Quoted(function.name);
      const std::string_view file =
          function.file.empty() ? function.module : function.file;
      if (!file.empty()) text_ += ",\"file\":" + Quoted(file);
      if (place.line > 0) text_ += fmt::format(",\"line\":{}", place.line);
      text_ += "}";
      out_.Text(text_);
      comma = ",\n";
    }
  }

  const Store& store_;
  StackNames names_;
  Output& out_;
  PlaceRows frames_;
  std::vector<StackPlace> places_;
  std::string text_;
};

}  // namespace

Result<ExportSummary> ExportSpeedscope(const Store& store,
                                       const ExportOptions& options) {
  TRY(const std::vector<RunningSample> samples, RunningSamples(store));
  TRY(auto out, Output::Create(options.output, options));
  SpeedscopeWriter(store, *out).Write(samples);
  ExportSummary summary;
  summary.samples = samples.size();
  summary.bytes = out->bytes();
  TRY_OK(out->Commit());
  return summary;
}

}  // namespace sonde
