#ifndef SONDE_IMPORT_TEXT_READER_H_
#define SONDE_IMPORT_TEXT_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

// True if these are the first bytes of a trace in its text form.
bool LooksLikeText(std::string_view first_bytes);

// Turns the text form of a trace into the bytes of a binary one, for
// TraceReader::OpenBytes. The first thing that is wrong is the error, as
// "NAME:LINE: expected ...". Hostile text is safe: sizes and counts are
// bounded.
Result<std::shared_ptr<std::string>> ReadText(std::string_view text,
                                              const std::string& name);
Result<std::shared_ptr<std::string>> ReadTextFile(const std::string& path);

}  // namespace sonde

#endif  // SONDE_IMPORT_TEXT_READER_H_
