#ifndef SONDE_STORE_SQL_GROUP_H_
#define SONDE_STORE_SQL_GROUP_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/event_scan.h"
#include "store/sql_table.h"

namespace sonde {

// Events with equal names together, in the order of the names: what GROUP BY
// name wants, without SQLite's sorting (which does 1.5 M rows/s).
//
// The columns a query needs are kept as varints in a stream for each name, two
// to five bytes a row. If that gets larger than kMaxBytes, the last names wait
// for another pass over the trace; a single name that is still too large is not
// kept but read from the trace as it is given out.
class GroupedEvents : public SqlRows {
 public:
  static constexpr size_t kMaxBytes = 256 << 20;

  GroupedEvents(const Store& store, EventFilter filter,
                const SqlRequest& request, size_t max_bytes = kMaxBytes);

  int Next() override;
  SqlValue Column(int column) override;
  int64_t Id() override;

 private:
  // Rows of one name, in blocks that double in size up to kBlockBytes.
  struct Stream {
    struct Block {
      std::unique_ptr<uint8_t[]> bytes;
      const uint8_t* end;  // of its rows; the last one's is the stream's
    };
    std::vector<Block> blocks;
    uint8_t* end = nullptr;    // where the next row goes
    uint8_t* limit = nullptr;  // a row that starts here may not fit
    size_t bytes = 0;
    uint64_t rows = 0;
    uint64_t last_id = 0, last_ts = 0;
  };
  struct Group {
    uint32_t name = 0;   // one of the ids with this text
    uint64_t total = 0;  // rows there may be, by the totals
    Stream stream;
  };

  void OrderNames();
  size_t GuessLimit() const;
  uint32_t SlotOf(uint32_t name);
  uint32_t NewSlot(uint32_t name);
  int Collect();
  void CollectChunk(const EventScan& scan);
  void AddRow(Stream& stream, const EventScan& scan, uint32_t i);
  void GrowStream(Stream& stream);
  void ReadRow(const EventScan& scan, uint32_t i, uint64_t* row) const;
  bool NextKept();
  int NextDirect();

  const Store& store_;
  const EventFilter filter_;
  const SqlDeadline* const deadline_;
  const bool by_text_;
  const bool descending_;
  const bool once_;  // one row of each group is enough
  const size_t max_bytes_;
  std::vector<int> columns_;  // of a row, in stream order
  int place_[64];             // column -> index into a row, or -1
  uint32_t mask_ = kMaskName;

  std::vector<Group> groups_;                            // in order
  std::vector<uint32_t> slot_of_id_;                     // + 1
  std::unordered_map<uint32_t, uint32_t> slot_of_lost_;  // ids without text
  std::unordered_map<std::string_view, uint32_t> slot_of_text_;
  size_t kept_bytes_ = 0;

  size_t first_ = 0;  // groups [first_, limit_) are kept
  size_t limit_ = 0;
  size_t group_ = 0;  // the one being given out
  uint64_t row_ = 0;  // rows of it given out
  size_t block_ = 0;
  const uint8_t* at_ = nullptr;
  const uint8_t* block_end_ = nullptr;
  std::unique_ptr<EventScan> direct_;  // set while one group is read directly
  size_t direct_at_ = 0;
  uint64_t current_[16] = {};
  uint64_t last_id_ = 0, last_ts_ = 0;
  int64_t ordinal_ = 0;
};

}  // namespace sonde

#endif  // SONDE_STORE_SQL_GROUP_H_
