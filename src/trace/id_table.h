#ifndef SONDE_TRACE_ID_TABLE_H_
#define SONDE_TRACE_ID_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sonde {

// Rows by id. Ids are dense in what we write, and found by their place; an id
// that lies far behind the others (somebody made it up, or those between were
// lost) costs a row, not its number. Id 0 is no row.
template <typename Row>
class IdTable {
 public:
  void Put(uint32_t id, Row row) {
    if (id == 0) return;
    if (id >= near_.size() && id <= 4 * rows_ + kAlwaysNear) Grow(id);
    if (id >= near_.size()) {
      rows_ += far_.insert_or_assign(id, std::move(row)).second;
      return;
    }
    rows_ += !near_[id].is;
    near_[id] = {std::move(row), true};
  }

  // Null if there is no such row.
  const Row* Find(uint32_t id) const {
    if (id < near_.size()) return near_[id].is ? &near_[id].row : nullptr;
    const auto at = far_.find(id);
    return at == far_.end() ? nullptr : &at->second;
  }

  // The first id at or behind `id` that has a row; 0: there is none, as behind
  // the greatest id.
  uint32_t From(uint32_t id) const {
    if (id == 0) return 0;
    for (size_t at = id; at < near_.size(); ++at)
      if (near_[at].is) return static_cast<uint32_t>(at);
    const auto at = far_.lower_bound(id);
    return at == far_.end() ? 0 : at->first;
  }

  // Calls `take(id, row)` for each, by id.
  template <typename Take>
  void ForEach(Take take) const {
    for (size_t at = 1; at < near_.size(); ++at)
      if (near_[at].is) take(static_cast<uint32_t>(at), near_[at].row);
    for (const auto& [id, row] : far_) take(id, row);
  }

  // Ids below are found by their place.
  size_t near_ids() const { return near_.size(); }
  size_t size() const { return rows_; }

 private:
  static constexpr size_t kAlwaysNear = 1024;
  struct Place {
    Row row = {};
    bool is = false;
  };
  // Makes room for `id`, also for those that seemed far until now.
  void Grow(uint32_t id) {
    near_.resize(id + 1);
    while (!far_.empty() && far_.begin()->first <= id) {
      near_[far_.begin()->first] = {std::move(far_.begin()->second), true};
      far_.erase(far_.begin());
    }
  }

  size_t rows_ = 0;
  std::vector<Place> near_;
  std::map<uint32_t, Row> far_;  // behind all of near_
};

}  // namespace sonde

#endif  // SONDE_TRACE_ID_TABLE_H_
