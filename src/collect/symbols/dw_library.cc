#include "collect/symbols/dw_library.h"

#include <dlfcn.h>

namespace sonde {
namespace {

template <typename Function>
bool FindIn(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<const DwLibrary*> DwLibrary::Load() {
  static DwLibrary dw = {};
  if (dw.begin != nullptr) return &dw;
  void* const library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Error{Error::Kind::kUnsupported,
                 "names need libdw.so.1, which cannot be loaded",
                 "apt-get install libdw1"};
  DwLibrary found = {};
  const bool all =
      FindIn(library, "dwfl_begin", found.begin) &&
      FindIn(library, "dwfl_end", found.end) &&
      FindIn(library, "dwfl_report_elf", found.report_elf) &&
      FindIn(library, "dwfl_report_end", found.report_end) &&
      FindIn(library, "dwfl_standard_find_debuginfo", found.find_debuginfo) &&
      FindIn(library, "dwfl_module_addrdie", found.unit_of) &&
      FindIn(library, "dwfl_module_getsymtab", found.symbol_count) &&
      FindIn(library, "dwfl_module_getsym_info", found.symbol) &&
      FindIn(library, "dwfl_module_getsrc", found.line_of) &&
      FindIn(library, "dwfl_lineinfo", found.line_info) &&
      FindIn(library, "dwarf_child", found.child) &&
      FindIn(library, "dwarf_siblingof", found.sibling) &&
      FindIn(library, "dwarf_dieoffset", found.offset) &&
      FindIn(library, "dwarf_ranges", found.ranges) &&
      FindIn(library, "dwarf_haspc", found.holds) &&
      FindIn(library, "dwarf_tag", found.tag) &&
      FindIn(library, "dwarf_attr", found.attribute) &&
      FindIn(library, "dwarf_attr_integrate", found.any_attribute) &&
      FindIn(library, "dwarf_formstring", found.text) &&
      FindIn(library, "dwarf_formudata", found.number) &&
      FindIn(library, "dwarf_formref_die", found.reference) &&
      FindIn(library, "dwarf_getsrcfiles", found.source_files) &&
      FindIn(library, "dwarf_filesrc", found.source_file);
  if (!all)
    return Error{Error::Kind::kUnsupported, "libdw.so.1 is not the one we know",
                 "apt-get install libdw1"};
  dw = found;
  return &dw;
}

}  // namespace sonde
