#include "report/sources.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>
#include <tuple>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "export/chart/markup.h"

namespace sonde {
namespace {

constexpr size_t kMostFiles = 5;
constexpr double kLeastFileShare = 0.01;  // of the time that was sampled
constexpr size_t kMostHotLines = 40;      // of a file
constexpr uint32_t kLinesAround = 3;
constexpr size_t kMostSourceBytes = 1 << 20;
constexpr size_t kSourceChars = 160, kPathChars = 300;

constexpr std::array<std::string_view, 24> kEndings = {
    ".py", ".pyx", ".pxd", ".pyi", ".c",    ".cc",  ".cpp",   ".cxx",
    ".h",  ".hh",  ".hpp", ".cu",  ".cuh",  ".inl", ".inc",   ".rs",
    ".go", ".f90", ".f",   ".jl",  ".java", ".js",  ".scala", ".kt"};

bool LooksLikeSource(std::string_view path) {
  return path.starts_with("/") && std::any_of(kEndings.begin(), kEndings.end(),
                                              [&](std::string_view ending) {
                                                return path.ends_with(ending);
                                              });
}

Error NotShown(const std::string& path, const std::string& why) {
  return {Error::Kind::kUnsupported, path + ": " + why};
}

bool RecordedHere(const Store& store) {
  utsname names{};
  return ::uname(&names) == 0 && store.Meta("host") == names.nodename;
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The numbers of the lines to show: around those with most time.
std::set<uint32_t> LinesToShow(const FileLines& file, size_t count) {
  std::vector<std::tuple<uint64_t, uint64_t, uint32_t>> hottest;
  for (const auto& [line, time] : file.lines)
    hottest.emplace_back(time.self_ns, time.total_ns, line);
  std::sort(hottest.rbegin(), hottest.rend());
  hottest.resize(std::min(hottest.size(), kMostHotLines));
  std::set<uint32_t> out;
  for (const auto& [self_ns, total_ns, line] : hottest) {
    const uint32_t from = line > kLinesAround ? line - kLinesAround : 1;
    const size_t to = std::min(count, size_t{line} + kLinesAround);
    for (uint32_t i = from; i <= to; ++i) out.insert(i);
  }
  return out;
}

class SourcePage {
 public:
  SourcePage(const Store& store, uint64_t all_ns)
      : all_ns_(static_cast<double>(std::max<uint64_t>(1, all_ns))),
        started_ns_(store.RealtimeOf(store.range().begin_ns)) {}

  std::string Write(const std::vector<FileLines>& files) {
    for (const FileLines& file : files) {
      // What is no path, such as <string>, nobody expects to see.
      if (file.file.starts_with("/") &&
          static_cast<double>(file.self_ns) >= kLeastFileShare * all_ns_)
        File(file);
    }
    if (out_.empty()) return "";
    return "<section>\n<h2>The hottest lines</h2>\n<p class=\"soft\">Shares "
           "of the CPU time that was sampled. self: the line itself ran; "
           "total: it or what it called.</p>\n" +
           out_ + "</section>\n";
  }

 private:
  template <typename... T>
  void Put(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
  }
  std::string ShareOf(uint64_t ns) const {
    return ns == 0 ? "" : FormatShare(static_cast<double>(ns) / all_ns_);
  }

  void File(const FileLines& file) {
    Put("<details{}><summary>{}: {}</summary>\n", opened_++ == 0 ? " open" : "",
        Escaped(Printable(file.file, kPathChars)), ShareOf(file.self_ns));
    Source(file);
    out_ += "</details>\n";
  }

  void Source(const FileLines& file) {
    const auto text = ReadSource(file.file, started_ns_);
    if (!text.ok()) return Why(text.error().what);
    const std::vector<std::string_view> lines = LinesOf(text.value());
    if (!file.lines.empty() && file.lines.rbegin()->first > lines.size())
      return Why(file.file + ": has fewer lines than what ran");
    const std::set<uint32_t> shown = LinesToShow(file, lines.size());
    out_ +=
        "<div class=\"table\"><table class=\"source\"><thead><tr><th>line"
        "</th><th>self</th><th>total</th><th>source</th></tr></thead>"
        "<tbody>\n";
    uint32_t last = 0;
    for (const uint32_t line : shown) {
      if (last != 0 && line != last + 1)
        out_ += "<tr><td colspan=\"4\" class=\"soft\">...</td></tr>\n";
      last = line;
      const auto at = file.lines.find(line);
      const LineTime time = at == file.lines.end() ? LineTime{} : at->second;
      Put("<tr{}><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td>"
          "</tr>\n",
          static_cast<double>(time.self_ns) >= 0.05 * all_ns_ ? " class=\"hot\""
                                                              : "",
          line, ShareOf(time.self_ns), ShareOf(time.total_ns),
          Escaped(Printable(Untabbed(lines[line - 1]), kSourceChars)));
    }
    out_ += "</tbody></table></div>\n";
  }

  void Why(const std::string& what) {
    Put("<p class=\"soft\">{}</p>\n", Escaped(Printable(what, kPathChars)));
  }

  static std::string Untabbed(std::string_view line) {
    if (line.ends_with("\r")) line.remove_suffix(1);
    std::string out;
    for (const char c : line.substr(0, 8 * kSourceChars))
      c == '\t' ? out += "    " : out += c;
    return out;
  }

  const double all_ns_;
  const int64_t started_ns_;
  size_t opened_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> ReadSource(const std::string& path,
                               int64_t started_realtime_ns) {
  if (!LooksLikeSource(path) || path.find('\0') != path.npos)
    return NotShown(path, "not a source file by its name, not opened");
  const Fd fd = OpenRegular(AT_FDCWD, path.c_str(), O_RDONLY);
  if (!fd.valid()) return ErrnoError(path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return ErrnoError(path, errno);
  const int64_t written_ns =
      info.st_mtim.tv_sec * kNsPerSec + info.st_mtim.tv_nsec;
  if (written_ns > started_realtime_ns)
    return NotShown(path, "changed since the recording, not shown");
  if (static_cast<uint64_t>(info.st_size) > kMostSourceBytes)
    return NotShown(path, "larger than a megabyte, not shown");
  TRY(std::string text, ReadFd(fd.get(), path, kMostSourceBytes));
  if (text.find('\0') != text.npos) return NotShown(path, "is no text");
  return text;
}

std::string SourceSection(const Store& store,
                          const std::vector<StackSum>& sums) {
  if (!RecordedHere(store))
    return "<p class=\"soft\">No source is shown: the trace was recorded on "
           "another machine.</p>\n";
  uint64_t all_ns = 0;
  for (const StackSum& sum : sums) all_ns += sum.running_ns;
  return SourcePage(store, all_ns).Write(HottestFiles(store, sums, kMostFiles));
}

}  // namespace sonde
