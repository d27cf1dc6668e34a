// Reads hostile text as a trace. Property: what is accepted gives a whole
// binary trace, and its text reads back as itself.

#include <cstdint>
#include <string>

#include "base/check.h"
#include "import/text_reader.h"
#include "trace/reader.h"
#include "trace/text_writer.h"

namespace sonde {
namespace {

std::string Through(const std::shared_ptr<std::string>& bytes) {
  const auto trace = TraceReader::OpenBytes(bytes, "binary");
  CHECK(trace.ok());
  CHECK(trace.value().damages().empty());
  return TextOf(trace.value());
}

void Check(std::string_view text) {
  const auto bytes = ReadText(text, "input");
  if (!bytes.ok()) return;
  const std::string first = Through(bytes.value());
  const auto again = ReadText(first, "first");
  CHECK(again.ok());
  CHECK(Through(again.value()) == first);
}

}  // namespace
}  // namespace sonde

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sonde::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
