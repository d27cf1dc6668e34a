#include "collect/stacks/python_finder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <optional>
#include <set>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "collect/proc/process_files.h"
#include "collect/proc/text_scanner.h"
#include "collect/stacks/elf_file.h"
#include "collect/stacks/mapped_file.h"

namespace sonde {
namespace {

constexpr size_t kMostMapsBytes = 32 << 20;

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool LooksLikePython(std::string_view path) {
  const std::string_view name = FileName(path);
  return name.starts_with("python") || name.starts_with("libpython");
}

Error CannotRead(pid_t pid, const std::string& what) {
  return {Error::Kind::kUnsupported,
          fmt::format("process {} runs {}: sonde reads the stacks of CPython "
                      "3.{} to 3.{}, x86-64, with the GIL",
                      pid, what, kFirstPythonMinor, kLastPythonMinor)};
}

bool IsWritable(const std::vector<Mapping>& maps, uint64_t address) {
  for (const Mapping& mapping : maps)
    if (address >= mapping.begin && address < mapping.end)
      return mapping.writable;
  return false;
}

// An interpreter that was found but not yet asked for its version.
struct PythonPlace {
  uint64_t runtime = 0;
  uint64_t code_type = 0;
  uint64_t version = 0;  // address of Py_Version, 0 if there is none
  std::vector<ElfFile::Function> eval, notable;
};

constexpr std::string_view kEval = "_PyEval_EvalFrameDefault";
constexpr std::string_view kNotable[] = {"gc_collect", "sre_",  "list_sort",
                                         "k_mul",      "x_mul", "x_divrem"};

// By the table of symbols, or where that is stripped by the section.
std::optional<PythonPlace> FindRuntime(const ElfFile& elf,
                                       std::string_view path,
                                       const std::vector<Mapping>& maps) {
  auto runtime = elf.VariableAddress("_PyRuntime");
  if (!runtime) runtime = elf.SectionAddress(".PyRuntime");
  if (!runtime) return std::nullopt;
  for (const Mapping& mapping : maps) {
    // A file may be mapped as data too, without being loaded there.
    if (mapping.path != path || mapping.offset != elf.first_load().offset)
      continue;
    const uint64_t shift = mapping.begin - elf.first_load().address;
    if (!IsWritable(maps, shift + *runtime)) continue;
    PythonPlace place;
    place.runtime = shift + *runtime;
    if (const auto type = elf.VariableAddress("PyCode_Type"))
      place.code_type = shift + *type;
    if (const auto version = elf.VariableAddress("Py_Version"))
      place.version = shift + *version;
    place.eval = elf.FunctionsCalled({&kEval, 1});
    if (place.eval.empty())
      if (const auto eval = elf.FunctionAt(kEval)) place.eval = {*eval};
    place.notable = elf.FunctionsCalled(kNotable);
    for (auto* const list : {&place.eval, &place.notable})
      for (ElfFile::Function& one : *list) one.address += shift;
    return place;
  }
  return std::nullopt;
}

std::string VersionText(uint64_t hex) {
  return fmt::format("{}.{}.{}", hex >> 24 & 0xff, hex >> 16 & 0xff,
                     hex >> 8 & 0xff);
}

Result<FoundPython> AskVersion(ProcessMemory& memory, const PythonPlace& place,
                               std::string_view path) {
  const pid_t pid = memory.pid();
  FoundPython found;
  found.file = Printable(path, 1024);
  found.runtime = place.runtime;
  found.code_type = place.code_type;
  found.eval = place.eval;
  found.notable = place.notable;
  // The smallest _PyRuntime, of 3.9, has 656 bytes.
  uint8_t head[kDescriptionBytes];
  const int error = memory.Read(place.runtime, head);
  if (error == EPERM || error == EACCES) return MemoryDenied(pid);
  if (error != 0)
    return ErrnoError(fmt::format("process {}: its memory", pid), error);

  if (const auto version = DescribedVersion(head)) {
    found.version = VersionText(*version);
    if (DescribedFreeThreaded(head))
      return CannotRead(pid, "free-threaded Python " + found.version);
    const int minor = static_cast<int>(*version >> 16 & 0xff);
    if (*version >> 24 != 3 || minor > kLastPythonMinor)
      return CannotRead(pid, "Python " + found.version);
    const auto layout = DescribedLayout(head);
    if (!layout)
      return Error{Error::Kind::kCorrupt,
                   fmt::format("process {}: Python {} describes itself in a "
                               "way that makes no sense",
                               pid, found.version)};
    found.layout = *layout;
    return found;
  }

  const NamedPython named = PythonOfName(path);
  const auto word = place.version != 0 ? memory.Word(place.version)
                                       : std::optional<uint64_t>();
  int minor = named.major == 3 ? named.minor : 0;
  if (word && *word >> 24 == 3) {
    minor = static_cast<int>(*word >> 16 & 0xff);
    found.version = VersionText(*word);
  } else if (minor > 0) {
    found.version = fmt::format("3.{}", minor);
  } else {
    return CannotRead(
        pid, "a Python that does not say its version (" + found.file + ")");
  }
  if (!named.flags.empty())
    return CannotRead(pid, fmt::format("Python {}, built with the option '{}'",
                                       found.version, named.flags));
  const auto layout = TabledLayout(minor);
  if (!layout) return CannotRead(pid, "Python " + found.version);
  found.layout = *layout;
  return found;
}

}  // namespace

std::string ProgramOf(pid_t pid) {
  char path[PATH_MAX];
  const ssize_t n =
      ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path, sizeof(path));
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

std::string ProgramName(pid_t pid) {
  const std::string path = ProgramOf(pid);
  return path.substr(path.rfind('/') + 1);
}

bool LooksLikePython(pid_t pid) {
  return ProgramName(pid).find("python") != std::string::npos;
}

NamedPython PythonOfName(std::string_view path) {
  constexpr std::string_view kWord = "python";
  NamedPython out;
  std::string_view name = FileName(path);
  const size_t at = name.find(kWord);
  if (!LooksLikePython(path)) return out;
  TextScanner in(name.substr(at + kWord.size()));
  uint64_t major = 0, minor = 0;
  if (!in.Number(&major) || !in.rest().starts_with('.')) return out;
  in = TextScanner(in.rest().substr(1));
  if (!in.Number(&minor) || major > 99 || minor > 99) return out;
  out.major = static_cast<int>(major);
  out.minor = static_cast<int>(minor);
  for (const char c : in.rest()) {
    if (c < 'a' || c > 'z') break;
    out.flags += c;
  }
  return out;
}

Result<FoundPython> FindPython(ProcessMemory& memory) {
  const pid_t pid = memory.pid();
  const auto text = ReadFile(fmt::format("/proc/{}/maps", pid), kMostMapsBytes);
  if (!text.ok())
    return text.error().kind == Error::Kind::kDenied ? MemoryDenied(pid)
                                                     : text.error();
  const std::vector<Mapping> maps = ParseMaps(text.value());
  const std::string program = ProgramOf(pid);
  std::optional<Error> refused;
  std::set<std::string_view> seen;
  for (const Mapping& mapping : maps) {
    const std::string_view path = mapping.path;
    const bool by_name = LooksLikePython(path);
    if (!path.starts_with('/') || (!by_name && path != program) ||
        !seen.insert(path).second)
      continue;
    Fd fd = OpenMapped(pid, mapping);
    if (!fd.valid()) {
      if (by_name)
        refused = Error{Error::Kind::kDenied,
                        fmt::format("process {}: {} cannot be opened", pid,
                                    Printable(path)),
                        "run sonde as root; a file that was replaced is still "
                        "there for root"};
      continue;
    }
    const auto elf = ElfFile::Open(std::move(fd), std::string(path));
    const NamedPython named = PythonOfName(path);
    const bool old = named.major != 0 &&
                     (named.major != 3 || named.minor < kFirstPythonMinor);
    if (!elf.ok() || elf.value().machine() != EM_X86_64 || old) {
      if (by_name)
        refused = CannotRead(
            pid, old ? fmt::format("Python {}.{}", named.major, named.minor)
                     : "Python for another processor");
      continue;
    }
    if (const auto place = FindRuntime(elf.value(), path, maps))
      return AskVersion(memory, *place, path);
  }
  if (refused) return *refused;
  return Error{Error::Kind::kNotFound,
               fmt::format("process {}: no Python found", pid)};
}

}  // namespace sonde
