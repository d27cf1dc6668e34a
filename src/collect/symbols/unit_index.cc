#include "collect/symbols/unit_index.h"

#include <dwarf.h>

#include <algorithm>

namespace sonde {
namespace {

bool IsScope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

}  // namespace

UnitIndex::UnitIndex(const DwLibrary& dw, Dwarf_Die unit) : dw_(dw) {
  Walk(unit, "", 0);
  std::stable_sort(
      ranges_.begin(), ranges_.end(),
      [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

void UnitIndex::Walk(Dwarf_Die parent, const std::string& scope, int depth) {
  Dwarf_Die child;
  if (depth == kMostDepth || dw_.child(&parent, &child) != 0) return;
  do {
    const int tag = dw_.tag(&child);
    if (tag == DW_TAG_subprogram) {
      if (!scope.empty()) scopes_.emplace(dw_.offset(&child), scope);
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (ptrdiff_t at = 0;
           (at = dw_.ranges(&child, at, &base, &begin, &end)) > 0;)
        if (end > begin) ranges_.push_back({begin, end, child});
    }
    if (IsScope(tag)) {
      Dwarf_Attribute attribute;
      const char* name = nullptr;
      if (dw_.attribute(&child, DW_AT_name, &attribute) != nullptr)
        name = dw_.text(&attribute);
      Walk(child,
           scope + (name != nullptr ? name : "(anonymous namespace)") + "::",
           depth + 1);
    } else {
      Walk(child, scope, depth + 1);
    }
  } while (dw_.sibling(&child, &child) == 0);
}

void UnitIndex::Descend(Dwarf_Die scope, uint64_t pc, int depth,
                        std::vector<Dwarf_Die>& inlined) const {
  Dwarf_Die child;
  if (depth == kMostDepth || dw_.child(&scope, &child) != 0) return;
  do {
    const int tag = dw_.tag(&child);
    if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) ||
        dw_.holds(&child, pc) <= 0)
      continue;
    if (tag == DW_TAG_inlined_subroutine) inlined.push_back(child);
    Descend(child, pc, depth + 1, inlined);
    return;
  } while (dw_.sibling(&child, &child) == 0);
}

std::vector<Dwarf_Die> UnitIndex::FunctionsAt(uint64_t pc) const {
  std::vector<Dwarf_Die> out;
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), pc,
      [](uint64_t at, const Range& range) { return at < range.begin; });
  if (after == ranges_.begin() || pc >= (after - 1)->end) return out;
  out.push_back((after - 1)->function);
  Descend(out[0], pc, 0, out);
  std::reverse(out.begin(), out.end());
  return out;
}

const std::string& UnitIndex::ScopeOf(Dwarf_Off function) const {
  static const std::string kNone;
  const auto found = scopes_.find(function);
  return found == scopes_.end() ? kNone : found->second;
}

}  // namespace sonde
