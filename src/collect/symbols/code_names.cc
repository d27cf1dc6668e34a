#include "collect/symbols/code_names.h"

#include <fcntl.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "collect/stacks/elf_file.h"
#include "collect/symbols/naming_child.h"

namespace sonde {
namespace {

using Message = NamingChild::Message;

constexpr size_t kMostWhyChars = 200;

// Puts what a child tells where it belongs. False if that is nonsense.
bool Keep(const Message& message, size_t current, CodeNames& out) {
  const NameRecord& record = message.record;
  if (record.code != current) return false;
  NamedCode& code = out.code[current];
  if (record.kind == NameRecord::kWhyNot) {
    code.why_not = Printable(message.function, kMostWhyChars);
    return true;
  }
  if (record.kind != NameRecord::kPlace || record.place >= code.places.size())
    return false;
  std::vector<PlaceName>& names = code.places[record.place];
  if (names.size() == NameRecord::kMostDepth || message.function.empty())
    return true;
  names.push_back({Printable(message.function, PlaceName::kMostFunctionChars),
                   Printable(message.file, PlaceName::kMostFileChars),
                   record.line, record.inlined != 0});
  return true;
}

// Listens to one child until it has ended, is late or tells nonsense. `next` is
// the first file that is not done.
void Listen(NamingChild& child, const NamingLimits& limits, int64_t until_ns,
            size_t& next, CodeNames& out) {
  Message message;
  int64_t file_until_ns = NowNs() + limits.file_ns;
  while (next < out.code.size()) {
    const auto state = child.Next(std::min(until_ns, file_until_ns), message);
    if (state == NamingChild::State::kMessage) {
      const uint32_t kind = message.record.kind;
      if (kind == NameRecord::kBegin && message.record.code == next) {
        file_until_ns = NowNs() + limits.file_ns;
        continue;
      }
      if (kind == NameRecord::kEnd && message.record.code == next) {
        ++next;
        continue;
      }
      if (Keep(message, next, out)) continue;
    }
    if (state == NamingChild::State::kLate && NowNs() >= until_ns) return;
    out.code[next].why_not = state == NamingChild::State::kLate
                                 ? "its debug information takes too long"
                                 : "its debug information crashes the reader";
    ++next;
    return;
  }
}

// What lies at the path now, if it is the same file.
Fd OpenSame(const CodeToName& code, std::string& why_not) {
  Fd fd = OpenRegular(AT_FDCWD, code.path.c_str(), O_RDONLY);
  if (!fd.valid()) {
    why_not = "the file is gone";
    return fd;
  }
  const auto elf =
      ElfFile::Open(Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)), code.path);
  if (elf.ok() && !code.build_id.empty() &&
      elf.value().BuildId() == code.build_id)
    return fd;
  why_not = "another file may have its name by now";
  return Fd();
}

}  // namespace

CodeNames NameCode(const std::vector<CodeToName>& asked,
                   const NamingLimits& limits) {
  const int64_t until_ns = NowNs() + limits.all_ns;
  CodeNames out;
  out.code.resize(asked.size());
  std::vector<CodeToName> wanted = asked;
  std::vector<Fd> opened;
  for (size_t i = 0; i < wanted.size(); ++i) {
    out.code[i].places.resize(wanted[i].addresses.size());
    if (wanted[i].fd >= 0) continue;
    opened.push_back(OpenSame(wanted[i], out.code[i].why_not));
    wanted[i].fd = opened.back().get();
    if (wanted[i].fd < 0) wanted[i].addresses.clear();
  }
  size_t next = 0;
  while (next < wanted.size() && NowNs() < until_ns) {
    const auto child = NamingChild::Start(wanted, next, limits);
    if (!child) break;
    Listen(*child, limits, until_ns, next, out);
    out.cpu_ns += child->Stop();
  }
  for (; next < wanted.size(); ++next)
    if (out.code[next].why_not.empty())
      out.code[next].why_not = "the time for names was up";
  return out;
}

}  // namespace sonde
