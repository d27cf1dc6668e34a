#include "collect/symbols/symbol_list.h"

#include <algorithm>
#include <tuple>

namespace sonde {
namespace {

// A function before a mark that somebody put into assembler; a name that others
// may use before one of a file of its own.
int RankOf(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
  return (function ? 4 : 0) + (symbol.st_size > 0 ? 2 : 0) +
         (GELF_ST_BIND(symbol.st_info) != STB_LOCAL ? 1 : 0);
}

}  // namespace

SymbolList::SymbolList(const DwLibrary& dw, Dwfl_Module* module) {
  const int count = dw.symbol_count(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = SHN_UNDEF;
    const char* const name =
        dw.symbol(module, i, &symbol, &address, &section, nullptr, nullptr);
    const int type = name == nullptr ? STT_FILE : GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr || name[0] == '\0' || section == SHN_UNDEF ||
        section == SHN_ABS ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
      continue;
    const uint64_t end = address + symbol.st_size;
    entries_.push_back(
        {address, end > address ? end : 0, RankOf(symbol), name});
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) {
              return std::tie(a.begin, a.rank) < std::tie(b.begin, b.rank);
            });
}

const char* SymbolList::At(uint64_t address) const {
  // Before the one that is sought may lie some that end early: marks inside of
  // a function, and aliases.
  constexpr int kMostBack = 16;
  auto at = std::upper_bound(
      entries_.begin(), entries_.end(), address,
      [](uint64_t a, const Entry& entry) { return a < entry.begin; });
  const char* open = nullptr;  // one without an end
  for (int i = 0; i < kMostBack && at != entries_.begin(); ++i) {
    --at;
    if (at->end != 0 && address < at->end) return at->name;
    if (at->end == 0 && open == nullptr && i == 0) open = at->name;
  }
  return open;
}

}  // namespace sonde
