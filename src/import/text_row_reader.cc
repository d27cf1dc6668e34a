#include "import/text_row_reader.h"

namespace sonde {

void TextRowReader::Add(TextLine::Field field) {
  field.take = [this, key = field.key, take = std::move(field.take)] {
    told_.insert(key);
    return take();
  };
  fields_.push_back(std::move(field));
}

void TextRowReader::Number(std::string_view key, int32_t& v) {
  if (exit_ != nullptr && key == "exit_code")
    AddExit(v);
  else
    Add(Int32Field(key, line_, v));
}

void TextRowReader::Number(std::string_view key, int64_t& v) {
  Add(IntField(key, line_, v));
}

void TextRowReader::Number(std::string_view key, uint32_t& v) {
  if (scope_ != nullptr && key == "scope_id")
    Add({"scope", [this, &v] { return TakeScope(v); }});
  else
    Add(U32Field(key, line_, v));
}

void TextRowReader::Number(std::string_view key, uint64_t& v) {
  Add(U64Field(key, line_, v));
}

void TextRowReader::Time(std::string_view key, int64_t& v) {
  Add(TimeField(key, line_, v));
}

void TextRowReader::String(std::string_view key, uint32_t& v) {
  Add(StringField(key, line_, trace_, v));
}

void TextRowReader::Text(std::string_view key, std::string& v) {
  Add(TextField(key, line_, v));
}

void TextRowReader::Ref(FrameKind kind, std::string_view key, uint32_t& v) {
  const auto ids = ids_.find(kind);
  if (ids != ids_.end())
    Add(IdField(key, line_, ids->second, v));
  else
    Add(U32Field(key, line_, v, kMaxNumber));
}

void TextRowReader::AddExit(int32_t& code) {
  const auto ended = [this, &code](Process::Exit exit) {
    return [this, &code, exit]() -> Status {
      if (exit == Process::Exit::kExited && line_.PeekWord() == "unknown") {
        *exit_ = Process::Exit::kUnknown;
        line_.SkipWord();
        return Ok();
      }
      *exit_ = exit;
      if (exit == Process::Exit::kRunning) return Ok();
      return Int32Field("", line_, code).take();
    };
  };
  Add({"exit", ended(Process::Exit::kExited)});
  Add({"signal", ended(Process::Exit::kSignaled)});
  Add({"running", ended(Process::Exit::kRunning), true});
}

Status TextRowReader::TakeScope(uint32_t& id) {
  std::string_view word = line_.PeekWord();
  const size_t colon = word.find(':');
  if (colon != std::string_view::npos) {
    const auto number = ParseTextUnsigned(word.substr(colon + 1));
    if (!number || *number > UINT32_MAX)
      return line_.Expected("a scope like process:1");
    id = static_cast<uint32_t>(*number);
    word = word.substr(0, colon);
  }
  for (size_t at = 0; at < kScopes.size(); ++at) {
    if (word != kScopes[at]) continue;
    *scope_ = static_cast<Series::Scope>(at + 1);
    line_.SkipWord();
    return Ok();
  }
  return line_.Expected("machine, process:N, thread:N or device:N");
}

}  // namespace sonde
