#include "collect/sample/native_frames.h"

#include <algorithm>
#include <utility>

#include "collect/symbols/code_names.h"

namespace sonde {
namespace {

// Whoever waits for the end of `sonde run` waits for the names, too.
constexpr NamingLimits kNaming = {.all_ns = 5 * kNsPerSec,
                                  .file_ns = 3 * kNsPerSec};
constexpr int64_t kMostMapsNs = 2 * kNsPerSec;

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

StackFrame FrameOf(TraceWriter& out, const PythonFrame& frame) {
  StackFrame made;
  made.function = out.Intern(frame.function);
  made.file = out.Intern(frame.file);
  made.line = static_cast<uint32_t>(std::max(frame.line, 0));
  return made;
}

StackFrame NativeFrames::Of(const NativeFrame& native, uint32_t process,
                            pid_t pid) {
  if (native.file == nullptr) return OfMade(native, process, pid);
  StackFrame frame;
  frame.module = ModuleOf(*native.file);
  frame.offset = native.address - (native.is_return_address ? 1 : 0);
  const CodePlace place = {native.file->number(), frame.offset};
  if (places_.size() < kMostPlaces && !places_.contains(place))
    places_.emplace(place, out_.AddFrame(frame));
  return frame;
}

void NativeFrames::Put(const NativeStack& stack, uint32_t process, pid_t pid,
                       std::vector<StackFrame>& out) {
  for (size_t i = stack.frames.size(); i-- > 0;)
    out.push_back(Of(stack.frames[i], process, pid));
}

void NativeFrames::Put(const MergedStack& merged, const NativeStack& stack,
                       const std::vector<PythonFrame>& python, uint32_t process,
                       pid_t pid, std::vector<StackFrame>& out) {
  for (size_t i = merged.frames.size(); i-- > 0;) {
    const MergedFrame& one = merged.frames[i];
    if (!one.python)
      out.push_back(Of(stack.frames[one.index], process, pid));
    else if (one.index < python.size())
      out.push_back(FrameOf(out_, python[one.index]));
  }
}

StackFrame NativeFrames::OfMade(const NativeFrame& native, uint32_t process,
                                pid_t pid) {
  const auto [at, fresh] = made_.try_emplace(process);
  Made& made = at->second;
  if (fresh) {
    made.code = MadeCode::Of(pid);
    Module module;
    module.path = out_.Intern(made.code.MapPath());
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
  std::vector<CodePlace> places;
  for (const auto& [place, frame] : places_) places.push_back(place);
  const NamedPlaces named = NamePlaces(files_, places, kNaming);
  cpu_ns_ = named.cpu_ns;
  unnamed_ = named.why_not;
  for (const auto& [place, names] : named.names)
    AddNames(out_, places_.at(place), names);
}

void NativeFrames::NameAllMade() {
  const int64_t until_ns = NowNs() + kMostMapsNs;
  for (const auto& [process, made] : made_) {
    const bool may_read = NowNs() < until_ns;
    if (!may_read)
      unnamed_ = "the maps of code made at run time took too long to read";
    std::vector<uint64_t> addresses;
    for (const auto& [address, frame] : made.frames)
      addresses.push_back(address);
    const std::vector<PlaceName> names =
        NameMade(made.code, addresses, started_ns_, may_read);
    auto frame = made.frames.begin();
    for (const PlaceName& name : names)
      AddNames(out_, (frame++)->second, {name});
  }
}

void NativeFrames::Name() {
  if (!places_.empty()) NameFiles();
  NameAllMade();
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
