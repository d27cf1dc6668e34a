// Stacks with their time, one a line: what flamegraph.pl, inferno, speedscope
// and many others read. Page: docs/formats/folded.md.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "export/exporter.h"
#include "export/output.h"
#include "store/stack_names.h"
#include "store/stack_sums.h"

namespace sonde {
namespace {

constexpr size_t kMaxFrameText = 4096;

// In a line of frames a semicolon ends a frame.
std::string FrameText(std::string_view text) {
  std::string out = Printable(text, kMaxFrameText);
  std::replace(out.begin(), out.end(), ';', ',');
  return out;
}

}  // namespace

Result<ExportSummary> ExportFolded(const Store& store,
                                   const ExportOptions& options) {
  TRY(std::vector<StackSum> sums, RunningStacks(store));
  SortByThread(sums);
  TRY(auto out, Output::Create(options.output, options));
  StackNames names(store);
  std::vector<StackPlace> places;
  std::string owner;
  uint32_t last = UINT32_MAX;
  ExportSummary summary;
  for (const StackSum& sum : sums) {
    if (out->failed()) break;
    if (sum.thread != last) {
      const ThreadName name = NameThread(store, last = sum.thread);
      owner = FrameText(name.process) + ";" + FrameText(name.thread);
    }
    out->Text(owner);
    names.Of(sum.stack, places);
    if (places.empty()) out->Text(fmt::format(";{}", kStackNotKnown));
    for (size_t i = places.size(); i-- > 0;) {
      out->Text(";");
      out->Text(FrameText(
          CallPlace(names.functions()[places[i].function], places[i].line)));
    }
    out->Text(
        fmt::format(" {}\n", std::max<uint64_t>(1, sum.running_ns / 1000)));
    summary.samples += sum.running;
  }
  summary.bytes = out->bytes();
  TRY_OK(out->Commit());
  return summary;
}

}  // namespace sonde
