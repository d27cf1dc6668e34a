#ifndef SONDE_ANALYZE_FACTS_NEIGHBOUR_FACTS_H_
#define SONDE_ANALYZE_FACTS_NEIGHBOUR_FACTS_H_

#include <string>
#include <vector>

#include "store/store.h"

namespace sonde {

// A program beside the run that used much of the machine.
struct Neighbour {
  std::string name;  // of the command; safe to print
  double cores = 0;  // on average while somebody looked
};

// Who worked beside the run, most first, four at most. What the trace says is
// checked: names are made safe to print, numbers that cannot be are left out.
std::vector<Neighbour> NeighboursOf(const Store& store);

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_NEIGHBOUR_FACTS_H_
