#include "collect/sample/native_frames.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>
#include <utility>

#include "base/text.h"
#include "collect/proc/proc_file.h"
#include "collect/proc/process_files.h"
#include "collect/sample/stack_sampler.h"
#include "collect/symbols/code_names.h"
#include "collect/symbols/perf_map.h"

namespace sonde {
namespace {

// Whoever waits for the end of `sonde run` waits for the names, too.
constexpr NamingLimits kNaming = {.all_ns = 5 * kNsPerSec,
                                  .file_ns = 3 * kNsPerSec};
constexpr int64_t kMostMapsNs = 2 * kNsPerSec;

// What the code is called that a process has compiled, where its functions have
// no names.
const char* CallMade(pid_t pid) {
  const std::string program = ProgramName(pid);
  if (program == "node" || program == "nodejs") return "JavaScript";
  if (program.starts_with("java")) return "compiled Java";
  if (program.starts_with("dotnet")) return "compiled .NET";
  return "code made at run time";
}

void AddNames(TraceWriter& out, uint32_t frame,
              const std::vector<PlaceName>& names) {
  for (size_t depth = 0; depth < names.size(); ++depth) {
    const PlaceName& name = names[depth];
    Symbol symbol;
    symbol.frame = frame;
    symbol.depth = static_cast<uint32_t>(depth);
    symbol.function = out.Intern(name.function);
    symbol.file = out.Intern(name.file);
    symbol.line = name.line;
    symbol.inlined = name.inlined ? 1 : 0;
    out.AddSymbol(symbol);
  }
}

}  // namespace

StackFrame NativeFrames::Of(const NativeFrame& native, uint32_t process,
                            pid_t pid) {
  if (native.file == nullptr) return OfMade(native, process, pid);
  StackFrame frame;
  frame.module = ModuleOf(*native.file);
  frame.offset = native.address - (native.is_return_address ? 1 : 0);
  const Place place(native.file->number(), frame.offset);
  if (places_.size() < kMostPlaces && !places_.contains(place))
    places_.emplace(place, out_.AddFrame(frame));
  return frame;
}

StackFrame NativeFrames::OfMade(const NativeFrame& native, uint32_t process,
                                pid_t pid) {
  const auto [at, fresh] = made_.try_emplace(process);
  Made& made = at->second;
  if (fresh) {
    made.pid = pid;
    made.own_pid = ParseOwnPid(ReadText(fmt::format("/proc/{}/status", pid)))
                       .value_or(pid);
    struct stat st = {};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &st) == 0)
      made.owner = st.st_uid;
    made.called = CallMade(pid);
    Module module;
    module.path = out_.Intern(fmt::format("/tmp/perf-{}.map", made.own_pid));
    made.module = out_.AddRow(module);
  }
  StackFrame frame;
  frame.module = made.module;
  frame.offset = native.pc - (native.is_return_address ? 1 : 0);
  if (made_places_ < kMostPlaces && !made.frames.contains(frame.offset)) {
    made.frames.emplace(frame.offset, out_.AddFrame(frame));
    ++made_places_;
  }
  return frame;
}

uint32_t NativeFrames::ModuleOf(const CodeFile& file) {
  const auto [at, fresh] = modules_.try_emplace(file.number());
  if (fresh) {
    Module module;
    module.path = out_.Intern(file.path());
    module.build_id = out_.Intern(file.build_id());
    at->second = out_.AddRow(module);
  }
  return at->second;
}

void NativeFrames::NameFiles() {
  std::vector<CodeToName> wanted;
  std::vector<std::vector<uint32_t>> frames;
  std::vector<const CodeFile*> files;
  const CodeFile* last = nullptr;
  for (const auto& [place, frame] : places_) {
    CodeFile& file = *files_.all()[place.first];
    if (&file != last) {
      last = &file;
      files_.KeepOpen(file);
      CodeToName code;
      code.path = file.path();
      code.build_id = file.build_id();
      wanted.push_back(std::move(code));
      frames.emplace_back();
      files.push_back(&file);
    }
    wanted.back().addresses.push_back(place.second);
    frames.back().push_back(frame);
  }
  // Now that all were opened: to open one may have closed another.
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i].fd = files[i]->fd();
  const CodeNames names = NameCode(wanted, kNaming);
  cpu_ns_ = names.cpu_ns;
  for (size_t i = 0; i < names.code.size(); ++i) {
    const NamedCode& code = names.code[i];
    if (!code.why_not.empty() && unnamed_.empty())
      unnamed_ = fmt::format("{}: {}", wanted[i].path, code.why_not);
    for (size_t k = 0; k < code.places.size(); ++k)
      if (code.places[k].empty())
        NameByBegin(*files[i], wanted[i].addresses[k], frames[i][k]);
      else
        AddNames(out_, frames[i][k], code.places[k]);
  }
}

// All places of one function get one name.
void NativeFrames::NameByBegin(const CodeFile& file, uint64_t address,
                               uint32_t frame) {
  const uint64_t begin = tables_.FunctionBegin(file, address);
  if (begin == 0) return;
  const std::string& path = file.path();
  PlaceName name;
  name.function = Printable(
      fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), begin), 200);
  AddNames(out_, frame, {name});
}

void NativeFrames::NameMade() {
  const int64_t until_ns = NowNs() + kMostMapsNs;
  for (const auto& [process, made] : made_) {
    std::optional<PerfMap> map;
    if (NowNs() < until_ns)
      map = PerfMap::Of(made.pid, made.own_pid, made.owner, started_ns_);
    else
      unnamed_ = "the maps of code made at run time took too long to read";
    for (const auto& [address, frame] : made.frames) {
      PlaceName name;
      if (map) name = map->At(address);
      if (name.function.empty()) name.function = made.called;
      AddNames(out_, frame, {name});
    }
  }
}

void NativeFrames::Name() {
  NameFiles();
  NameMade();
}

void NameCopied(const AllRows& rows, const Copied& copied, TraceWriter& out) {
  constexpr NamingLimits kLimits = {.all_ns = 2 * kNsPerSec,
                                    .file_ns = kNsPerSec};
  struct Wanted {
    CodeToName code;
    std::vector<uint32_t> frames;
  };
  std::map<uint32_t, Wanted> by_module;
  size_t places = 0;
  const auto& modules = rows.Of<Module>();
  for (const auto& [id, added] : copied.unnamed) {
    const StackFrame& frame = *rows.frames.Find(id);
    const auto module = modules.find(frame.module);
    if (module == modules.end() || module->second.build_id == 0) continue;
    if (++places > NativeFrames::kMostPlaces) break;
    Wanted& wanted = by_module[frame.module];
    wanted.code.path = rows.Str(module->second.path);
    wanted.code.build_id = rows.Str(module->second.build_id);
    wanted.code.addresses.push_back(frame.offset);
    wanted.frames.push_back(added);
  }
  if (by_module.empty()) return;
  std::vector<CodeToName> code;
  for (auto& [module, wanted] : by_module)
    code.push_back(std::move(wanted.code));
  const CodeNames names = NameCode(code, kLimits);
  auto wanted = by_module.begin();
  for (size_t i = 0; i < names.code.size(); ++i, ++wanted)
    for (size_t k = 0; k < names.code[i].places.size(); ++k)
      AddNames(out, wanted->second.frames[k], names.code[i].places[k]);
}

}  // namespace sonde
