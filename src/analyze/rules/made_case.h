// Asks rules about runs that were made up for tests.

#ifndef SONDE_ANALYZE_RULES_MADE_CASE_H_
#define SONDE_ANALYZE_RULES_MADE_CASE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analyze/rules/rules.h"

namespace sonde {

// What every finding of every rule promises about its numbers.
inline void ExpectNumbers(const Finding& f) {
  EXPECT_FALSE(f.numbers.empty()) << f.rule;
  std::set<std::string_view> names;
  for (const Number& n : f.numbers) {
    EXPECT_TRUE(names.insert(n.name).second) << f.rule << ": " << n.name;
    EXPECT_TRUE(std::all_of(n.name.begin(), n.name.end(), [](char c) {
      return std::islower(c) || std::isdigit(c) || c == '_';
    })) << n.name;
    EXPECT_TRUE(std::isfinite(n.value)) << f.rule << ": " << n.name;
    EXPECT_GE(n.value, 0) << f.rule << ": " << n.name;
    if (n.unit == Unit::kShare) {
      EXPECT_LE(n.value, 1) << f.rule << ": " << n.name;
    }
  }
}

// What one rule says of a run, as its row in the table lets it.
inline Outcome Ask(RuleFunction rule, const Facts& facts) {
  Outcome out = Case(facts).Of(rule);
  for (const Finding& f : out.findings) ExpectNumbers(f);
  return out;
}

// A number of a finding; not a number if it has none of this name.
inline double NumberOf(const Finding& f, std::string_view name) {
  for (const Number& n : f.numbers)
    if (n.name == name) return n.value;
  return std::nan("");
}

}  // namespace sonde

#endif  // SONDE_ANALYZE_RULES_MADE_CASE_H_
