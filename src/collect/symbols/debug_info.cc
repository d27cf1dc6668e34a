#include "collect/symbols/debug_info.h"

#include <dwarf.h>
#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "collect/symbols/demangle.h"
#include "collect/symbols/dw_library.h"
#include "collect/symbols/symbol_list.h"
#include "collect/symbols/unit_index.h"

namespace sonde {
namespace {

// A place in a source file.
struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

// One file, opened by libdw, whose addresses are those in the file.
class DebugInfo {
 public:
  DebugInfo(const DwLibrary& dw, const CodeToName& code)
      : dw_(dw), session_(dw.begin(&Callbacks(dw)), dw.end) {
    if (!session_) return;
    const int fd = ::fcntl(code.fd, F_DUPFD_CLOEXEC, 0);
    module_ =
        dw_.report_elf(session_.get(), "code", code.path.c_str(), fd, 0, true);
    if (module_ == nullptr) ::close(fd);
    dw_.report_end(session_.get(), nullptr, nullptr);
  }

  bool ok() const { return module_ != nullptr; }

  void Name(uint32_t place, uint64_t address, NameSink& sink) {
    SourceLine at = LineOf(address);
    if (NameScopes(place, address, at, sink)) return;
    // Of code without debug information, the linker's name.
    const std::string name = SymbolAt(address);
    if (!name.empty())
      sink.Name(place, Demangled(name), at.file, at.line, false);
  }

 private:
  static const Dwfl_Callbacks& Callbacks(const DwLibrary& dw) {
    static Dwfl_Callbacks callbacks = {};
    callbacks.find_debuginfo = dw.find_debuginfo;
    return callbacks;
  }

  SourceLine LineOf(uint64_t address) {
    SourceLine out;
    Dwfl_Line* const line = dw_.line_of(module_, address);
    if (line == nullptr) return out;
    int number = 0;
    const char* const file =
        dw_.line_info(line, nullptr, &number, nullptr, nullptr, nullptr);
    if (file != nullptr) out.file = file;
    out.line = number > 0 ? static_cast<uint32_t>(number) : 0;
    return out;
  }

  // Of an attribute that is a text; it may stand where the function was
  // written.
  std::string TextOf(Dwarf_Die& die, unsigned kind) {
    Dwarf_Attribute attribute;
    if (dw_.any_attribute(&die, kind, &attribute) == nullptr) return {};
    const char* const text = dw_.text(&attribute);
    return text != nullptr ? text : std::string();
  }

  // A function that no other file can call has no name for linkers, only the
  // name in its namespace or class. So is one of Rust called whose name for
  // linkers is of the new kind, which Demangled() does not know.
  std::string NameOfFunction(Dwarf_Die& function, const UnitIndex& unit,
                             uint64_t address, bool inlined) {
    for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
      if (const std::string name = TextOf(function, kind);
          !name.empty() && !name.starts_with("_R"))
        return Demangled(name);
    if (!inlined)
      if (const std::string name = SymbolAt(address); name.starts_with("_Z"))
        return Demangled(name);
    return unit.ScopeOf(WrittenAt(function)) + TextOf(function, DW_AT_name);
  }

  // The entry of a function in the namespace or class that it belongs to: from
  // where it was put, by where it was defined, to where it was declared.
  Dwarf_Off WrittenAt(Dwarf_Die function) {
    constexpr int kMostSteps = 4;
    for (int i = 0; i < kMostSteps; ++i) {
      Dwarf_Attribute attribute;
      Dwarf_Die other;
      if ((dw_.attribute(&function, DW_AT_abstract_origin, &attribute) ==
               nullptr &&
           dw_.attribute(&function, DW_AT_specification, &attribute) ==
               nullptr) ||
          dw_.reference(&attribute, &other) == nullptr)
        break;
      function = other;
    }
    return dw_.offset(&function);
  }

  // The linker's name of the function there; empty if there is none.
  std::string SymbolAt(uint64_t address) {
    if (!symbols_) symbols_.emplace(dw_, module_);
    const char* const name = symbols_->At(address);
    return name != nullptr ? name : std::string();
  }

  uint64_t NumberOf(Dwarf_Die& die, unsigned kind) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dw_.attribute(&die, kind, &attribute) == nullptr ||
        dw_.number(&attribute, &value) != 0)
      return 0;
    return value;
  }

  // Where an inlined function was called.
  SourceLine CallOf(Dwarf_Die& inlined, Dwarf_Die& unit) {
    SourceLine out;
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    const uint64_t number = NumberOf(inlined, DW_AT_call_file);
    if (dw_.source_files(&unit, &files, &count) == 0 && number < count)
      if (const char* const file =
              dw_.source_file(files, number, nullptr, nullptr))
        out.file = file;
    out.line = static_cast<uint32_t>(NumberOf(inlined, DW_AT_call_line));
    return out;
  }

  // The functions around a place, from the inside. False if none is known.
  bool NameScopes(uint32_t place, uint64_t address, SourceLine at,
                  NameSink& sink) {
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = dw_.unit_of(module_, address, &bias);
    if (unit == nullptr) return false;
    const UnitIndex& index =
        units_.try_emplace(dw_.offset(unit), dw_, *unit).first->second;
    std::vector<Dwarf_Die> functions = index.FunctionsAt(address - bias);
    for (Dwarf_Die& function : functions) {
      const bool inlined = dw_.tag(&function) == DW_TAG_inlined_subroutine;
      sink.Name(place, NameOfFunction(function, index, address, inlined),
                at.file, at.line, inlined);
      if (inlined) at = CallOf(function, *unit);
    }
    return !functions.empty();
  }

  const DwLibrary& dw_;
  const std::unique_ptr<Dwfl, decltype(DwLibrary::end)> session_;
  Dwfl_Module* module_ = nullptr;
  std::map<Dwarf_Off, UnitIndex> units_;  // by where they begin
  std::optional<SymbolList> symbols_;     // once they are asked for
};

}  // namespace

void NameByDebugInfo(const CodeToName& code, NameSink& sink) {
  if (code.addresses.empty()) return;
  const auto library = DwLibrary::Load();
  if (!library.ok()) {
    sink.WhyNot(library.error().what + ": " + library.error().hint);
    return;
  }
  DebugInfo info(*library.value(), code);
  if (!info.ok()) {
    sink.WhyNot("it is no file of code");
    return;
  }
  for (size_t i = 0; i < code.addresses.size(); ++i)
    info.Name(static_cast<uint32_t>(i), code.addresses[i], sink);
}

}  // namespace sonde
