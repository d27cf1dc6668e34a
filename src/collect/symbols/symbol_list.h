#ifndef SONDE_COLLECT_SYMBOLS_SYMBOL_LIST_H_
#define SONDE_COLLECT_SYMBOLS_SYMBOL_LIST_H_

#include <cstdint>
#include <vector>

#include "collect/symbols/dw_library.h"

namespace sonde {

// The linker's names of the functions of one file, sorted, for those who ask
// for many: libdw goes through all of them for each question. Names live as
// long as the module. One thread.
class SymbolList {
 public:
  SymbolList(const DwLibrary& dw, Dwfl_Module* module);

  // The function that `address` lies in; null if there is none.
  const char* At(uint64_t address) const;

 private:
  struct Entry {
    uint64_t begin = 0, end = 0;  // end 0: up to the next one
    int rank = 0;                 // of several at one place the greatest counts
    const char* name = nullptr;
  };

  std::vector<Entry> entries_;  // by begin, and rank
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SYMBOLS_SYMBOL_LIST_H_
