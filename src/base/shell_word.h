#ifndef SONDE_BASE_SHELL_WORD_H_
#define SONDE_BASE_SHELL_WORD_H_

#include <string>
#include <string_view>

namespace sonde {

// A word as a shell would take it, in quotes only if it needs them, and
// printable: at most `max_chars` of it, the rest cut with "...". With line ends
// and other control characters as bash takes them: $'one\ntwo'.
std::string ShellWord(std::string_view text, size_t max_chars = 200);

}  // namespace sonde

#endif  // SONDE_BASE_SHELL_WORD_H_
