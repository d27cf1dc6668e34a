// Traces in forms that are not ours, turned into ours: rows and chunks as a
// recording has them, so that everything that reads a trace reads them too.

#ifndef SONDE_IMPORT_IMPORTER_H_
#define SONDE_IMPORT_IMPORTER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/reader.h"

namespace sonde {

// Reads one form of trace. docs/importing.md says how to write an importer.
//
//  - `matches` tells by the first bytes, never by the file's name; at most one
//    importer may know a file.
//  - `read` gives the bytes of a whole .sonde trace, mostly what a TraceWriter
//    in memory wrote. Every byte of the file is taken for hostile: what makes
//    no sense is an error that names the place, and what is kept is bounded.
struct Importer {
  const char* name;  // "text"
  const char* what;  // "the text form of a trace"
  bool (*matches)(std::string_view first_bytes);
  Result<std::shared_ptr<std::string>> (*read)(const std::string& path);
};

// Every importer. Add yours here (importers.cc).
std::span<const Importer> Importers();

// Opens a trace of any form: ours, or one that an importer knows.
Result<TraceReader> OpenTrace(const std::string& path);

}  // namespace sonde

#endif  // SONDE_IMPORT_IMPORTER_H_
