#ifndef SONDE_ANALYZE_RULES_COMMAND_GROUPS_H_
#define SONDE_ANALYZE_RULES_COMMAND_GROUPS_H_

#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/rules/rule.h"

namespace sonde {

// All processes of one command name, sampled or too short for it. A tree of
// many short processes is a few of these.
struct CommandGroup {
  std::string name;
  uint64_t count = 0;
  double cpu_share = 0;  // of the run's CPU time, as far as known
  int64_t wall_ns = 0;   // their lives together
  const ProcessFacts* busiest = nullptr;  // null: none was sampled

  // One process used most of the group's time.
  bool Led() const;
  // So many and so short that starting them is a good part of the work.
  bool ManyShort() const;
  // For a sentence: the process that leads, or "its 240 processes cc1".
  std::string Call() const;
  // The place to look at: the busiest of them, or nowhere.
  Where Look() const;
};

// Most CPU time first. Keeps pointers into `facts`.
std::vector<CommandGroup> GroupsByName(const Facts& facts);

// The first three in words: "cc1 (240 processes) 92.0 %, make 5.0 %".
std::string CallTop(const std::vector<CommandGroup>& groups);

// A sentence with a space before it if they are many and short, else nothing.
std::string AdviceOnShort(const CommandGroup& group);

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_COMMAND_GROUPS_H_
