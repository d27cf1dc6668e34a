#include "report/shape.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace sonde {
namespace {

// Only what somebody would look for, and what it is called in a sentence.
constexpr std::pair<std::string_view, const char*> kWorthTelling[] = {
    {"tree_cpu", "CPU"},        {"accelerator", "accelerators"},
    {"tree_memory", "memory"},  {"tree_read", "reading"},
    {"tree_write", "writing"},  {"net_receive", "network in"},
    {"net_send", "network out"}};
constexpr double kSureEnough = 0.7;
constexpr size_t kMostLines = 5;

// Null: it is of no interest.
const char* CallSeries(const SeriesShape& one) {
  for (const auto& [name, words] : kWorthTelling)
    if (name == one.series->name) return words;
  return nullptr;
}

// What is one level, or none in particular, is not told.
bool Tells(const SeriesShape& one) {
  switch (one.pattern.kind) {
    case PatternKind::kUnknown:
    case PatternKind::kIdle:
    case PatternKind::kSteady:
    case PatternKind::kIrregular:
      return false;
    default:
      return one.pattern.confidence >= kSureEnough &&
             CallSeries(one) != nullptr;
  }
}

}  // namespace

Lines ShapeLines(const RunShape& shape) {
  Lines out;
  // That it did one thing all the time is no news.
  if (const std::string phases = PhrasePhases(shape.phases);
      shape.phases.list.size() > 1)
    Append(out, Wrap("Phases   ", phases));
  const char* label = "Pattern  ";
  for (const SeriesShape& one : shape.series) {
    if (!Tells(one) || out.size() >= kMostLines) continue;
    Append(out, Wrap(label,
                     fmt::format("{}: {}", CallSeries(one), one.pattern.text)));
    label = "         ";
  }
  return out;
}

}  // namespace sonde
