// Recordings written as text, for tests.

#ifndef SONDE_ANALYZE_FACTS_MADE_TEXT_H_
#define SONDE_ANALYZE_FACTS_MADE_TEXT_H_

#include <string>
#include <string_view>

#include "analyze/facts/facts.h"
#include "base/check.h"
#include "import/text_reader.h"

namespace sonde {

// What the lines of a text trace say (docs/trace-format.md); they need no head.
inline std::shared_ptr<const Store> StoreOfText(std::string_view run,
                                                std::string_view more = "") {
  std::string text = "sonde-text 0\n";
  text.append(run).append(more);
  auto bytes = ReadText(text, "made");
  CHECK(bytes.ok());
  auto store = Store::OfBytes(bytes.Take(), "made.sonde");
  CHECK(store.ok());
  return store.Take();
}
inline Facts FactsOfText(std::string_view run, std::string_view more = "") {
  return FactsOf(StoreOfText(run, more));
}

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_MADE_TEXT_H_
