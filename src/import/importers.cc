#include "import/importer.h"
#include "import/text_reader.h"
#include "trace/source.h"

namespace sonde {
namespace {

// What importers are shown of a file.
constexpr size_t kFirstBytes = 4096;

}  // namespace

std::span<const Importer> Importers() {
  static constexpr Importer kImporters[] = {
      {"text", "the text form of a trace", &LooksLikeText, &ReadTextFile},
  };
  return kImporters;
}

Result<TraceReader> OpenTrace(const std::string& path) {
  TRY(const auto file, Source::OpenFile(path));
  std::string head;
  file->Read(0, kFirstBytes, head);
  if (head.empty())
    return Error{Error::Kind::kCorrupt, path + ": empty file",
                 "`sonde run -- <command>` makes a trace"};
  for (const Importer& importer : Importers()) {
    if (!importer.matches(head)) continue;
    TRY(auto bytes, importer.read(path));
    return TraceReader::OpenBytes(std::move(bytes), path);
  }
  return TraceReader::Open(path);
}

}  // namespace sonde
