#ifndef SONDE_COLLECT_SYMBOLS_DW_LIBRARY_H_
#define SONDE_COLLECT_SYMBOLS_DW_LIBRARY_H_

#include <elfutils/libdwfl.h>

#include "base/result.h"

namespace sonde {

// The functions of elfutils' libdw that we use. The library is loaded by the
// process that names places, and by no other: it brings four libraries with it,
// and reads bytes of whoever made a file.
struct DwLibrary {
  decltype(&dwfl_begin) begin;
  decltype(&dwfl_end) end;
  decltype(&dwfl_report_elf) report_elf;
  decltype(&dwfl_report_end) report_end;
  decltype(&dwfl_standard_find_debuginfo) find_debuginfo;
  decltype(&dwfl_module_addrdie) unit_of;
  decltype(&dwfl_module_getsymtab) symbol_count;
  decltype(&dwfl_module_getsym_info) symbol;
  decltype(&dwfl_module_getsrc) line_of;
  decltype(&dwfl_lineinfo) line_info;
  decltype(&dwarf_child) child;
  decltype(&dwarf_siblingof) sibling;
  decltype(&dwarf_dieoffset) offset;
  decltype(&dwarf_ranges) ranges;
  decltype(&dwarf_haspc) holds;
  decltype(&dwarf_tag) tag;
  decltype(&dwarf_attr) attribute;
  decltype(&dwarf_attr_integrate) any_attribute;
  decltype(&dwarf_formstring) text;
  decltype(&dwarf_formudata) number;
  decltype(&dwarf_formref_die) reference;
  decltype(&dwarf_getsrcfiles) source_files;
  decltype(&dwarf_filesrc) source_file;

  // Stays loaded until the end.
  static Result<const DwLibrary*> Load();
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_DW_LIBRARY_H_
