#ifndef SONDE_COLLECT_RING_STATE_ARCHIVE_H_
#define SONDE_COLLECT_RING_STATE_ARCHIVE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trace/bytes.h"
#include "trace/format.h"

namespace sonde {

// How far the ids in a state may go: what its trace has.
struct StateLimits {
  uint32_t strings = 0, tracks = 0, series = 0, groups = 0;
  uint64_t losses = 0;
};

// Writes the fields of a state, or reads them into the same fields: one
// function names them once for both. What is read was left in a directory that
// others of this user can write to, so nothing is believed: after the first
// value that cannot be, ok() is false and all others read as 0.
class StateArchive {
 public:
  StateArchive() : writing_(true), in_("") {}
  StateArchive(std::string_view bytes, const StateLimits& limits)
      : writing_(false), in_(bytes), limits_(limits) {}

  bool writing() const { return writing_; }
  bool ok() const { return writing_ || (in_.ok() && !refused_); }
  bool AtEnd() const { return in_.AtEnd(); }
  std::string Take() { return out_.Take(); }

  template <typename T>
  void Number(T& value) {
    static_assert(std::is_unsigned_v<T>);
    if (writing_) return out_.Varint(value);
    const uint64_t read = in_.Varint();
    if (read > static_cast<T>(~T{0})) refused_ = true;
    value = ok() ? static_cast<T>(read) : 0;
  }
  template <typename... T>
  void Numbers(T&... values) {
    (Number(values), ...);
  }
  void Flag(bool& value) {
    uint8_t bit = value ? 1 : 0;
    Number(bit);
    value = bit != 0;
  }
  void Signed(int64_t& value) {
    if (writing_) return out_.Signed(value);
    value = ok() ? in_.Signed() : 0;
  }
  // A moment of a trace.
  void Time(int64_t& ns) {
    Signed(ns);
    if (!writing_ && (ns < 0 || ns > kMaxTimeNs / 2)) refused_ = true;
    if (!ok()) ns = 0;
  }
  void Double(double& value) {
    if (writing_) return out_.Double(value);
    value = ok() ? in_.Double() : 0;
  }

  void Text(std::string& value) {
    if (writing_) return out_.Text(value);
    value = ok() ? in_.Text(kLongestText) : "";
  }
  void Refuse() { refused_ = true; }

  // Ids of the trace; 0 is none.
  void String(uint32_t& id) { Id(id, limits_.strings); }
  // One that was part of a number.
  uint32_t StringIn(uint64_t id) {
    if (!writing_ && id > limits_.strings) refused_ = true;
    return ok() ? static_cast<uint32_t>(id) : 0;
  }
  void SeriesId(uint32_t& id) { Id(id, limits_.series); }
  // These are also kept in a list: whose content the state speaks of.
  void TrackId(uint32_t& id) {
    Id(id, limits_.tracks);
    if (id != 0) tracks_.push_back(id);
  }
  void GroupId(uint32_t& id) {
    Id(id, limits_.groups);
    if (id != 0) groups_.push_back(id);
  }
  const std::vector<uint32_t>& tracks() const { return tracks_; }
  const std::vector<uint32_t>& groups() const { return groups_; }
  void LossHandle(size_t& handle) {
    uint64_t value = handle;
    Id(value, limits_.losses == 0 ? 0 : limits_.losses - 1);
    handle = value;
    if (limits_.losses == 0 && !writing_) refused_ = true;
  }

  // A list or a map; `one(element)` names the fields of an element. A map's
  // element is a pair of key and value, and is put in after its fields are
  // read.
  template <typename List, typename One>
  void Each(List& list, One one) {
    if (writing_) {
      out_.Varint(list.size());
      for (auto& element : list) {
        if constexpr (requires { typename List::mapped_type; }) {
          std::pair<typename List::key_type, typename List::mapped_type&> copy(
              element.first, element.second);
          one(copy);
        } else {
          one(element);
        }
      }
      return;
    }
    list.clear();
    // An element is at least a byte.
    const uint64_t count = in_.Varint();
    if (count > in_.left()) refused_ = true;
    for (uint64_t i = 0; i < count && ok(); ++i) {
      if constexpr (requires { typename List::mapped_type; }) {
        std::pair<typename List::key_type, typename List::mapped_type> element;
        one(element);
        if (ok()) list.emplace(element.first, std::move(element.second));
      } else {
        typename List::value_type element = {};
        one(element);
        if (ok()) list.push_back(std::move(element));
      }
    }
  }
  void Words(std::vector<uint64_t>& words) {
    Each(words, [this](uint64_t& word) { Number(word); });
  }

 private:
  static constexpr size_t kLongestText = 64 << 20;

  template <typename T>
  void Id(T& id, T limit) {
    Number(id);
    if (!writing_ && id > limit) refused_ = true;
    if (!ok()) id = 0;
  }

  const bool writing_;
  bool refused_ = false;
  ByteWriter out_;
  ByteReader in_;
  StateLimits limits_;
  std::vector<uint32_t> tracks_, groups_;
};

}  // namespace sonde

#endif  // SONDE_COLLECT_RING_STATE_ARCHIVE_H_
