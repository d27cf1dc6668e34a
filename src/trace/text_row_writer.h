#ifndef SONDE_TRACE_TEXT_ROW_WRITER_H_
#define SONDE_TRACE_TEXT_ROW_WRITER_H_

#include <map>
#include <string>
#include <string_view>

#include "trace/fields.h"
#include "trace/rows.h"

namespace sonde {

// Old ids to new ones, counted from 1 in the order of the old.
class DenseIds {
 public:
  void Add(uint32_t id) { ids_.insert({id, 0}); }
  void Number() {
    uint32_t next = 0;
    for (auto& entry : ids_) entry.second = ++next;
  }
  // 0 if it is not known.
  uint32_t operator[](uint32_t id) const {
    const auto at = ids_.find(id);
    return at == ids_.end() ? 0 : at->second;
  }

 private:
  std::map<uint32_t, uint32_t> ids_;
};

// Spells the fields of rows as TextRowReader reads them: VisitFields(writer,
// row) appends " key=value" for each field that says something.
class TextRowWriter {
 public:
  using Ids = std::map<FrameKind, DenseIds>;

  TextRowWriter(const Rows& rows, const Ids& ids, std::string& text)
      : rows_(rows), ids_(ids), text_(text) {}

  void Number(std::string_view key, int64_t v);
  void Number(std::string_view key, int32_t v) { Number(key, int64_t{v}); }
  void Number(std::string_view key, uint64_t v);
  void Number(std::string_view key, uint32_t v) { Number(key, uint64_t{v}); }
  void Time(std::string_view key, int64_t v, int64_t none = kNoTime);
  void Cost(std::string_view key, int64_t v) { Time(key, v, -1); }
  void String(std::string_view key, uint32_t v);
  void Text(std::string_view key, std::string_view v);
  void Ref(FrameKind kind, std::string_view key, uint32_t v);
  template <typename Enum, typename Words>
  void Choice(std::string_view key, Enum v, const Words& words, Enum first) {
    Word(key, words[static_cast<size_t>(v) - static_cast<size_t>(first)]);
  }
  template <typename Words>
  void Choice(std::string_view, Process::Exit v, const Words&, Process::Exit) {
    exit_ = v;
  }
  template <typename Words>
  void Choice(std::string_view, Series::Scope v, const Words&, Series::Scope) {
    scope_ = v;
  }
  // A string as long as the text form may have it.
  std::string_view StringOf(uint32_t id) const;

 private:
  void Word(std::string_view key, std::string_view word);

  const Rows& rows_;
  const Ids& ids_;
  std::string& text_;
  Process::Exit exit_ = Process::Exit::kUnknown;
  Series::Scope scope_ = Series::Scope::kMachine;
};

}  // namespace sonde

#endif  // SONDE_TRACE_TEXT_ROW_WRITER_H_
