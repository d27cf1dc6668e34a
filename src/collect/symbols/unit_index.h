#ifndef SONDE_COLLECT_SYMBOLS_UNIT_INDEX_H_
#define SONDE_COLLECT_SYMBOLS_UNIT_INDEX_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/symbols/dw_library.h"

namespace sonde {

// The functions of one compilation unit, found by one walk through its entries:
// libdw itself would walk for each place again, which takes milliseconds in a
// large unit.
class UnitIndex {
 public:
  static constexpr int kMostDepth = 128;

  UnitIndex(const DwLibrary& dw, Dwarf_Die unit);

  // The functions around a place, as entries of DWARF, from the inside: those
  // that were inlined there, and at last the one that they were put into. Empty
  // if there is none.
  std::vector<Dwarf_Die> FunctionsAt(uint64_t pc) const;
  // "outer::inner::" of the namespaces and classes that a function is written
  // in, by the offset of its entry; empty if there are none.
  const std::string& ScopeOf(Dwarf_Off function) const;

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
    Dwarf_Die function;
  };
  void Walk(Dwarf_Die parent, const std::string& scope, int depth);
  void Descend(Dwarf_Die scope, uint64_t pc, int depth,
               std::vector<Dwarf_Die>& inlined) const;

  const DwLibrary& dw_;
  std::vector<Range> ranges_;  // by their beginnings
  std::unordered_map<Dwarf_Off, std::string> scopes_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_UNIT_INDEX_H_
