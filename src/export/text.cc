// The text form of a trace: what tests and people read and write.

#include "export/exporter.h"
#include "export/output.h"
#include "trace/text_writer.h"

namespace sonde {

Result<ExportSummary> ExportText(const Store& store,
                                 const ExportOptions& options) {
  TRY(auto out, Output::Create(options.output, options));
  const Status written =
      WriteText(store.reader(), [&](std::string_view text) -> Status {
        out->Text(text);
        return out->failed() ? out->Commit() : Ok();
      });
  TRY_OK(written);
  ExportSummary summary;
  EventColumns events;
  for (const FrameRef& chunk : store.event_chunks()) {
    if (!store.ReadEvents(chunk, kMaskRare, events)) continue;
    for (uint32_t i = 0; i < chunk.events.count; ++i)
      ++(events.Rare(EventColumn::kKind, i) == 0 ? summary.slices
                                                 : summary.instants);
  }
  for (const FrameRef& chunk : store.counter_chunks())
    summary.counter_values += chunk.counters.values;
  summary.bytes = out->bytes();
  TRY_OK(out->Commit());
  return summary;
}

}  // namespace sonde
