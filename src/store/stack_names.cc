#include "store/stack_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace sonde {
namespace {

std::string_view LastPart(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// A frame without a module is of a runtime that says what it runs.
std::string_view LanguageOf(const StackFrame& frame, std::string_view file) {
  if (frame.module != 0) return "native";
  if (file == kKernelFile) return "kernel";
  return file.ends_with(".py") || file.starts_with("<") ? "python" : "";
}

}  // namespace

void StackNames::Of(uint32_t stack, std::vector<StackPlace>& out, size_t most) {
  out.clear();
  // A file can say that a stack was called from itself.
  for (size_t i = 0; i < most && out.size() < most; ++i) {
    const StackNode* const node = store_.stacks().Find(stack);
    if (node == nullptr) return;
    const std::vector<StackPlace>& places = OfFrame(node->frame);
    out.insert(out.end(), places.begin(),
               places.begin() + static_cast<ptrdiff_t>(std::min(
                                    places.size(), most - out.size())));
    stack = node->parent;
  }
}

const std::vector<StackPlace>& StackNames::OfFrame(uint32_t id) {
  const auto [at, fresh] = frames_.try_emplace(id);
  if (!fresh) return at->second;
  std::vector<StackPlace>& places = at->second;
  const StackFrame* const frame = store_.frames().Find(id);
  const StackFrame row = frame != nullptr ? *frame : StackFrame{};
  const auto& modules = store_.rows().Of<Module>();
  const auto module = modules.find(row.module);
  const std::string_view path =
      module == modules.end() ? "" : store_.Str(module->second.path);
  const auto& symbols = store_.rows().symbols;
  for (auto symbol = symbols.lower_bound({id, 0});
       symbol != symbols.end() && symbol->first.first == id &&
       places.size() < kMostPlaces;
       ++symbol) {
    const Symbol& s = symbol->second;
    const std::string_view file = store_.Str(s.file);
    places.push_back(Place({std::string(store_.Str(s.function)), file, path,
                            LanguageOf(row, file)},
                           s.line));
  }
  if (!places.empty()) return places;
  const std::string_view file = store_.Str(row.file);
  std::string name(store_.Str(row.function));
  if (name.empty())
    name = path.empty() ? "?"
                        : fmt::format("{}+{:#x}", LastPart(path), row.offset);
  places.push_back(
      Place({std::move(name), file, path, LanguageOf(row, file)}, row.line));
  return places;
}

StackPlace StackNames::Place(Function function, uint32_t line) {
  const auto [at, fresh] =
      numbers_.try_emplace({function.name, function.file, function.module},
                           static_cast<uint32_t>(functions_.size()));
  if (fresh) functions_.push_back(std::move(function));
  return {at->second, line};
}

size_t OwnPlace(const StackNames& names,
                const std::vector<StackPlace>& places) {
  const auto language = [&](size_t i) {
    return names.functions()[places[i].function].language;
  };
  for (size_t i = 0; i < places.size(); ++i)
    if (language(i) == "python") return i;
  return places.size() > 1 && language(0) == "kernel" ? 1 : 0;
}

std::string CallPlace(const Function& function, uint32_t line) {
  if (function.file.empty()) return function.name;
  return line == 0
             ? fmt::format("{} ({})", function.name, LastPart(function.file))
             : fmt::format("{} ({}:{})", function.name, LastPart(function.file),
                           line);
}

std::string NameProcess(const Store& store, uint32_t number) {
  const auto process = store.processes().find(number);
  if (process == store.processes().end()) return "unknown process";
  return fmt::format("{} (pid {})", store.Str(process->second.name),
                     process->second.pid);
}

ThreadName NameThread(const Store& store, uint32_t number) {
  const auto thread = store.threads().find(number);
  if (thread == store.threads().end())
    return {NameProcess(store, 0), "unknown thread"};
  const Thread& t = thread->second;
  return {NameProcess(store, t.process),
          fmt::format("{} (tid {})", store.Str(t.name), t.tid)};
}

}  // namespace sonde
