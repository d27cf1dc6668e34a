#include "collect/proc/proc_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>

namespace sonde {
namespace {

constexpr size_t kFirstBuffer = 16 << 10;
constexpr size_t kLargestBuffer = 4 << 20;
constexpr rlim_t kKeepFree = 64;

Fd OpenToRead(const char* path, int* error) {
  Fd fd(::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW));
  if (!fd.valid() && error != nullptr) *error = errno;
  return fd;
}

size_t OpenFiles() {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc/self/fd"),
                                                &::closedir);
  size_t files = 0;
  while (dir && ::readdir(dir.get()) != nullptr) ++files;
  return files;
}

std::string_view ReadAll(int fd, std::vector<char>& buffer, int* error) {
  if (buffer.size() < kFirstBuffer) buffer.resize(kFirstBuffer);
  size_t have = 0;
  for (;;) {
    const ssize_t n = ::pread(fd, buffer.data() + have, buffer.size() - have,
                              static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (error != nullptr) *error = errno;
      return {};
    }
    have += static_cast<size_t>(n);
    // /proc gives a page or a record at a time: a buffer that is more than
    // half empty was enough for any small file, and saves the second read. (The
    // kernel breaks longer ones between two lines, near the end of a page.)
    if (n == 0 || (have < 3072 && have + 4096 < buffer.size()))
      return {buffer.data(), have};
    if (have == buffer.size()) {
      if (buffer.size() >= kLargestBuffer) return {buffer.data(), have};
      buffer.resize(buffer.size() * 2);
    }
  }
}

}  // namespace

FdBudget FdBudget::FromLimits() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {0};
  if (limit.rlim_cur == RLIM_INFINITY) return {1 << 20};
  const size_t taken = kKeepFree + OpenFiles();
  const size_t most = static_cast<size_t>(limit.rlim_cur);
  return {most > taken ? most - taken : 0};
}

std::string_view ProcFile::Read(const char* path, FdBudget& budget,
                                std::vector<char>& buffer, int* error) {
  if (fd_.valid()) return ReadAll(fd_.get(), buffer, error);
  Fd fd = OpenToRead(path, error);
  if (!fd.valid()) return {};
  const std::string_view text = ReadAll(fd.get(), buffer, error);
  if (budget.left > 0) {
    --budget.left;
    fd_ = std::move(fd);
  }
  return text;
}

void ProcFile::Close(FdBudget& budget) {
  if (!fd_.valid()) return;
  fd_.Reset();
  ++budget.left;
}

std::string_view ReadOnce(const char* path, std::vector<char>& buffer,
                          int* error) {
  const Fd fd = OpenToRead(path, error);
  return fd.valid() ? ReadAll(fd.get(), buffer, error) : std::string_view();
}

std::string ReadText(const std::string& path) {
  auto text = ReadFile(path, 4 << 20);
  return text.ok() ? text.Take() : std::string();
}

}  // namespace sonde
