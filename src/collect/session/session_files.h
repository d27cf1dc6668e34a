#ifndef SONDE_COLLECT_SESSION_SESSION_FILES_H_
#define SONDE_COLLECT_SESSION_SESSION_FILES_H_

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// How what belongs to a session is told from what belongs to the user, who may
// have anything anywhere.

inline constexpr char kSessionLock[] = "lock";

// "sonde-<uid>-" of this user.
std::string SessionPrefix();

// Whether `name` is SessionPrefix(), 16 lowercase hex digits and `ending`.
bool IsSessionName(std::string_view name, std::string_view ending);

// Every name in the open directory `dir`, without "." and "..".
std::vector<std::string> NamesIn(int dir);

// Takes away what sonde and libsonde make in a session's directory (`dir`, at
// `path`), empty directories in it, and then itself if nothing is left.
//
// False: it stays, because there is something else in it. Then the lock is
// gone, so nobody takes it for a session again. Asks nobody whether it is one:
// that is for the caller, who holds its lock.
bool RemoveSession(int dir, const std::string& path);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_SESSION_FILES_H_
