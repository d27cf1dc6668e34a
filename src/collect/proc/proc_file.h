#ifndef SONDE_COLLECT_PROC_PROC_FILE_H_
#define SONDE_COLLECT_PROC_PROC_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace sonde {

// How many files may be kept open at once, counted by those who do.
struct FdBudget {
  size_t left = 0;

  // What RLIMIT_NOFILE leaves beyond what is open now, less 64 for whatever
  // else may come.
  static FdBudget FromLimits();
};

// A file of /proc that is read again and again. Kept open while the budget
// lasts, else opened for each reading. Give it back with Close().
class ProcFile {
 public:
  ProcFile() = default;
  ProcFile(ProcFile&&) = default;
  ProcFile& operator=(ProcFile&&) = default;

  // The file is open: Read() will not look at the path.
  bool kept() const { return fd_.valid(); }

  // The whole content, as a view into `buffer`, which grows as needed (to at
  // most 4 MB). Empty if it cannot be read; `error` then has the errno.
  std::string_view Read(const char* path, FdBudget& budget,
                        std::vector<char>& buffer, int* error = nullptr);

  void Close(FdBudget& budget);

 private:
  Fd fd_;
};

// Reads a file of /proc once. Empty if it cannot be read.
std::string_view ReadOnce(const char* path, std::vector<char>& buffer,
                          int* error = nullptr);

// The same, for what is read seldom.
std::string ReadText(const std::string& path);

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_PROC_FILE_H_
