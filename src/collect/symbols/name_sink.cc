#include "collect/symbols/name_sink.h"

#include <unistd.h>

#include <string>

#include "base/fd.h"

namespace sonde {

void NameSink::Put(NameRecord record, std::string_view function,
                   std::string_view file) {
  function = function.substr(0, NameRecord::kMostText);
  file = file.substr(0, NameRecord::kMostText);
  record.function_bytes = static_cast<uint32_t>(function.size());
  record.file_bytes = static_cast<uint32_t>(file.size());
  std::string bytes(reinterpret_cast<const char*>(&record), sizeof(record));
  bytes.append(function).append(file);
  // Whoever listens has gone: so do we.
  if (WriteAll(fd_, bytes.data(), bytes.size()) != 0) ::_exit(0);
}

}  // namespace sonde
