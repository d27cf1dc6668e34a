#include "analyze/facts/neighbours.h"

#include <fmt/format.h>

namespace sonde {

std::string CallNeighbours(const Facts& facts) {
  constexpr size_t kMostNamed = 3;
  std::string out;
  for (size_t i = 0; i < facts.neighbours.size() && i < kMostNamed; ++i)
    out += fmt::format("{}{} {:.2f} cores", i == 0 ? "" : ", ",
                       facts.neighbours[i].name, facts.neighbours[i].cores);
  return out + (facts.neighbours.size() > kMostNamed ? " and others" : "");
}

std::string OthersUsed(const Facts& facts, double cores) {
  const std::string who = CallNeighbours(facts);
  return fmt::format("Other programs used {:.2f} cores{}", cores,
                     who.empty() ? "" : fmt::format(" ({})", who));
}

std::string AdviceOnNeighbours(const Facts& facts) {
  const std::string who = CallNeighbours(facts);
  // Where each terminal has a group of its own, nice counts only inside of it.
  const bool nice =
      MetaNumber(*facts.store, "sched_autogroup").value_or(0) == 0;
  return fmt::format(
      "Run the program again when the other programs are done{}, or move "
      "them to other cores (taskset){}.{}",
      who.empty() ? "" : fmt::format(" ({})", who),
      nice ? " or behind it (nice)" : "",
      who.empty() ? " `ps -eo pcpu,pid,user,comm --sort=-pcpu | head` shows "
                    "the other programs while they run."
                  : "");
}

}  // namespace sonde
