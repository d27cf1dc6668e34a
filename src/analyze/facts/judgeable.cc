#include "analyze/facts/judgeable.h"

#include <fmt/format.h>

#include "base/text.h"
#include "trace/work.h"

namespace sonde {

Status CheckJudgeable(const Store& store) {
  // A series takes 660 bytes from its row to the facts: 460 MB.
  constexpr size_t kMostSeries = 700'000;
  if (store.series().size() > kMostSeries)
    return Error{Error::Kind::kUnsupported,
                 fmt::format("{}: has {} series, too many to judge",
                             Printable(store.path()), store.series().size()),
                 "`sonde query` and `sonde export` read it"};
  return CheckWork(store.reader(), kJudging);
}

}  // namespace sonde
