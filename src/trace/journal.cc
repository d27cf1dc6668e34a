#include "trace/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "trace/frame.h"

namespace sonde {

bool IsJournal(const std::string& path) {
  const Fd file = OpenRegular(AT_FDCWD, path.c_str(), O_RDONLY);
  if (!file.valid()) return false;
  std::string head(kFileHeaderSize, '\0');
  const ssize_t n = ::pread(file.get(), head.data(), head.size(), 0);
  if (n != static_cast<ssize_t>(head.size())) return false;
  const auto header = FileHeader::Decode(head);
  return header && header->journal;
}

}  // namespace sonde
