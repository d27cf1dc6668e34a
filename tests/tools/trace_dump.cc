// trace_dump FILE: prints a trace, binary or text, in its text form.

#include <cstdio>

#include "import/importer.h"
#include "trace/text_writer.h"

namespace sonde {
namespace {

Status Dump(const std::string& path) {
  TRY(const TraceReader trace, OpenTrace(path));
  return WriteText(trace, [](std::string_view piece) -> Status {
    if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size())
      return Error{Error::Kind::kIo, "cannot write"};
    return Ok();
  });
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const sonde::Status status = sonde::Dump(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "trace_dump: %s\n", status.error().what.c_str());
  return 1;
}
