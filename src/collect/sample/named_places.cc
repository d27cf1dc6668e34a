#include "collect/sample/named_places.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>
#include <utility>

#include "base/text.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/stacks/python_finder.h"
#include "collect/symbols/code_names.h"
#include "collect/symbols/perf_map.h"
#include "collect/unwind/eh_frame.h"

namespace sonde {
namespace {

// What the code is called that a process has compiled, where its functions have
// no names.
const char* CallMade(pid_t pid) {
  const std::string program = ProgramName(pid);
  if (program == "node" || program == "nodejs") return "JavaScript";
  if (program.starts_with("java")) return "compiled Java";
  if (program.starts_with("dotnet")) return "compiled .NET";
  return "code made at run time";
}

// All places of one function get one name.
std::vector<PlaceName> NameByBegin(EhFrame& tables, const CodeFile& file,
                                   uint64_t address) {
  const uint64_t begin = tables.FunctionBegin(file, address);
  if (begin == 0) return {};
  const std::string& path = file.path();
  PlaceName name;
  name.function = Printable(
      fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), begin), 200);
  return {name};
}

}  // namespace

NamedPlaces NamePlaces(CodeFiles& files, const std::vector<CodePlace>& places,
                       const NamingLimits& limits) {
  std::vector<CodeToName> wanted;
  std::vector<CodeFile*> wanted_files;
  for (const CodePlace& place : places) {
    CodeFile& file = *files.all()[place.file];
    if (wanted_files.empty() || &file != wanted_files.back()) {
      files.KeepOpen(file);
      CodeToName code;
      code.path = file.path();
      code.build_id = file.build_id();
      wanted.push_back(std::move(code));
      wanted_files.push_back(&file);
    }
    wanted.back().addresses.push_back(place.address);
  }
  // Now that all were opened: to open one may have closed another.
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i].fd = wanted_files[i]->fd();
  CodeNames named = NameCode(wanted, limits);
  NamedPlaces out;
  out.cpu_ns = named.cpu_ns;
  EhFrame tables;
  for (size_t i = 0; i < named.code.size(); ++i) {
    NamedCode& code = named.code[i];
    const CodeFile& file = *wanted_files[i];
    if (!code.why_not.empty() && out.why_not.empty())
      out.why_not = fmt::format("{}: {}", file.path(), code.why_not);
    for (size_t k = 0; k < code.places.size(); ++k) {
      const uint64_t address = wanted[i].addresses[k];
      auto names = code.places[k].empty() ? NameByBegin(tables, file, address)
                                          : std::move(code.places[k]);
      if (!names.empty())
        out.names[CodePlace{file.number(), address}] = std::move(names);
    }
  }
  return out;
}

MadeCode MadeCode::Of(pid_t pid) {
  MadeCode made;
  made.pid = pid;
  made.own_pid =
      ParseOwnPid(ReadText(fmt::format("/proc/{}/status", pid))).value_or(pid);
  struct stat st = {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &st) == 0)
    made.owner = st.st_uid;
  made.called = CallMade(pid);
  return made;
}

std::string MadeCode::MapPath() const {
  return fmt::format("/tmp/perf-{}.map", own_pid);
}

std::vector<PlaceName> NameMade(const MadeCode& made,
                                const std::vector<uint64_t>& addresses,
                                int64_t since_ns, bool may_read) {
  std::optional<PerfMap> map;
  if (may_read && !addresses.empty())
    map = PerfMap::Of(made.pid, made.own_pid, made.owner, since_ns);
  std::vector<PlaceName> out;
  for (const uint64_t address : addresses) {
    PlaceName name;
    if (map) name = map->At(address);
    if (name.function.empty()) name.function = made.called;
    out.push_back(std::move(name));
  }
  return out;
}

}  // namespace sonde
