#include "report/journal_loss.h"

#include <fmt/format.h>

#include "base/shell_word.h"
#include "trace/frame.h"
#include "trace/source.h"

namespace sonde {

std::optional<Loss> JournalLoss(const Store& store) {
  const TraceReader& reader = store.reader();
  if (reader.finished()) return std::nullopt;
  std::string head;
  const auto file = Source::OpenFile(store.path());
  if (!file.ok()) return std::nullopt;
  file.value()->Read(0, kFileHeaderSize, head);
  if (!TraceReader::LooksLikeTrace(head)) return std::nullopt;

  const std::string path = store.path() + ".journal";
  const std::string shown = ShellWord(path, 4096);
  Loss loss;
  loss.reason = "journal";
  const auto journal = Source::OpenFile(path);
  if (!journal.ok()) {
    const bool absent = journal.error().kind == Error::Kind::kNotFound;
    loss.detail = absent
                      ? fmt::format(
                            "the newest part of the recording: its journal is "
                            "not beside the trace; if it was left elsewhere, "
                            "put it back as {}",
                            shown)
                      : fmt::format(
                            "the newest part of the recording: {} cannot be "
                            "read; is it yours?",
                            shown);
    return loss;
  }
  journal.value()->Read(0, kFileHeaderSize, head);
  const auto header = FileHeader::Decode(head);
  if (header && header->journal && header->session == reader.header().session)
    return std::nullopt;
  loss.detail = fmt::format(
      "the newest part of the recording: {} is not the journal of this trace; "
      "put the one that was beside it back",
      shown);
  return loss;
}

}  // namespace sonde
