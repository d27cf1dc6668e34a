#ifndef SONDE_IMPORT_TEXT_ROW_READER_H_
#define SONDE_IMPORT_TEXT_ROW_READER_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/text_fields.h"
#include "trace/fields.h"
#include "trace/text_words.h"
#include "trace/writer.h"

namespace sonde {

// Processes and threads are kept by number; more than one for each line that a
// text may have is a slip.
inline constexpr uint32_t kMaxNumber = 1 << 20;

// Reads the fields of one row from the rest of its line, in any order. Visits
// the row to learn which there are; Read() then takes them.
//
// Two pairs of fields are one word in the text: `exit=0`, `signal=9`,
// `running`; and `scope=process:1`.
class TextRowReader {
 public:
  // What ids of the text are here, by kind of row.
  using Ids = std::map<FrameKind, TextIds>;

  TextRowReader(TextLine& line, TraceWriter& trace, const Ids& ids)
      : line_(line), trace_(trace), ids_(ids) {}

  template <typename Row>
  Status Read(Row& row) {
    VisitFields(*this, row);
    return line_.Fields(fields_);
  }
  // Whether the line has a field.
  bool told(std::string_view key) const { return told_.contains(key); }

  void Number(std::string_view key, int32_t& v);
  void Number(std::string_view key, int64_t& v);
  void Number(std::string_view key, uint32_t& v);
  void Number(std::string_view key, uint64_t& v);
  void Time(std::string_view key, int64_t& v);
  void Cost(std::string_view key, int64_t& v) { Time(key, v); }
  void String(std::string_view key, uint32_t& v);
  void Text(std::string_view key, std::string& v);
  void Ref(FrameKind kind, std::string_view key, uint32_t& v);
  template <typename Enum, typename Words>
  void Choice(std::string_view key, Enum& v, const Words& words, Enum first) {
    Add(FieldOf(key, v, [this, &words, first]() -> Result<size_t> {
      TRY(const size_t at, sonde::Choice(line_, words));
      return static_cast<size_t>(first) + at;
    }));
  }
  template <typename Words>
  void Choice(std::string_view, Process::Exit& v, const Words&, Process::Exit) {
    exit_ = &v;
  }
  template <typename Words>
  void Choice(std::string_view, Series::Scope& v, const Words&, Series::Scope) {
    scope_ = &v;
  }

 private:
  void Add(TextLine::Field field);
  void AddExit(int32_t& code);
  Status TakeScope(uint32_t& id);

  TextLine& line_;
  TraceWriter& trace_;
  const Ids& ids_;
  std::vector<TextLine::Field> fields_;
  std::set<std::string_view> told_;
  Process::Exit* exit_ = nullptr;
  Series::Scope* scope_ = nullptr;
};

}  // namespace sonde

#endif  // SONDE_IMPORT_TEXT_ROW_READER_H_
