#include "trace/row_budget.h"

#include "trace/reader.h"

namespace sonde {

RowBudget::RowBudget(const TraceReader& trace)
    : RowBudget(static_cast<uint64_t>(trace.file_size()),
                trace.frames().size()) {}

// The list of frames is kept, too, but is shared.
RowBudget::RowBudget(uint64_t file_bytes, size_t frames)
    : max_unpacked_(kMaxUnpackedBytes + kUnpackedPerByte * file_bytes),
      kept_(frames * sizeof(FrameRef) / 2) {}

bool RowBudget::Unpack(size_t bytes) {
  unpacked_ += bytes;
  too_long_ |= unpacked_ > max_unpacked_;
  return !over();
}

Status RowBudget::status(const std::string& file) const {
  if (!over()) return Ok();
  return Error{Error::Kind::kUnsupported,
               file +
                   (too_long_ ? ": its tables unpack to more than " +
                                    std::to_string(max_unpacked_ / 1'000'000)
                              : ": its tables take more than " +
                                    std::to_string(kMaxKeptBytes / 1'000'000)) +
                   " MB, the most that is read"};
}

}  // namespace sonde
