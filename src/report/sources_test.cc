#include "report/sources.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analyze/facts/made_text.h"
#include "base/time.h"

namespace sonde {
namespace {

// All files are written at this moment.
constexpr int64_t kWritten = 1'700'000'000;

struct SourcesTest : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "/sources_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string File(const std::string& name, const std::string& text) {
    std::string path = directory + "/" + name;
    std::ofstream(path) << text;
    const timespec times[] = {{kWritten, 0}, {kWritten, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path;
  }

  // Of a run that began at `start` and had all its time in a line of `path`.
  std::string Section(const std::string& path, uint32_t line,
                      int64_t start = kWritten, const std::string& host = "") {
    utsname names{};
    ::uname(&names);
    const auto store = StoreOfText(fmt::format(
        "meta host \"{}\"\nclock monotonic=0 realtime={}\n"
        "process 1 pid=7 name=p start=0\n"
        "thread 1 process=1 tid=7 name=t start=0\n"
        "frame 1 function=f file=\"{}\" line={}\nstack 1 frame=1\n"
        "sample 0ms thread=1 stack=1 weight=10ms\n",
        host.empty() ? names.nodename : host, start * kNsPerSec, path, line));
    return SourceSection(*store, RunningStacks(*store).Take());
  }

  std::string directory;
};

TEST_F(SourcesTest, AFileThatIsWhatRanIsRead) {
  const std::string path = File("a.py", "x = 1\n");
  EXPECT_EQ(ReadSource(path, kWritten * kNsPerSec).Take(), "x = 1\n");
}

TEST_F(SourcesTest, WhatCannotBeWhatRanIsNotRead) {
  const auto why = [](const std::string& path) {
    const auto text = ReadSource(path, kWritten * kNsPerSec + 5);
    return text.ok() ? "read" : text.error().what;
  };
  EXPECT_EQ(why(directory + "/no.py"),
            directory + "/no.py: No such file or directory");
  const std::string later = File("later.py", "x\n");
  const timespec times[] = {{kWritten, 6}, {kWritten, 6}};
  ASSERT_EQ(::utimensat(AT_FDCWD, later.c_str(), times, 0), 0);
  EXPECT_EQ(why(later), later + ": changed since the recording, not shown");
  EXPECT_NE(why(File("large.py", std::string((1 << 20) + 1, 'x')))
                .find("larger than a megabyte"),
            std::string::npos);
  EXPECT_NE(why(File("zero.py", std::string("a\0b", 3))).find("is no text"),
            std::string::npos);
  // Whatever a trace says, a secret is no source.
  for (const char* name : {"shadow", "id_rsa", ".env", "key.pem"})
    EXPECT_NE(why(File(name, "x\n")).find("not opened"), std::string::npos)
        << name;
  EXPECT_NE(why("a.py").find("not opened"), std::string::npos)
      << "from where would that be?";
}

TEST_F(SourcesTest, NothingButARegularFileIsOpened) {
  const std::string fifo = directory + "/fifo.py";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(ReadSource(fifo, INT64_MAX).ok()) << "and it does not hang";
  const std::string link = directory + "/link.py";
  ASSERT_EQ(::symlink(File("secret", "x\n").c_str(), link.c_str()), 0);
  EXPECT_FALSE(ReadSource(link, INT64_MAX).ok());
}

TEST_F(SourcesTest, LinesAroundTheHotOnesAreShownWithTheirTime) {
  std::string text;
  for (int i = 1; i <= 40; ++i) text += fmt::format("line<{}>\n", i);
  const std::string page = Section(File("a.py", text), 20);
  EXPECT_NE(page.find("<td>20</td><td>100.0 %</td><td>100.0 %</td>"
                      "<td><code>line&lt;20&gt;</code>"),
            page.npos)
      << page;
  for (const char* there : {"line&lt;17&gt;", "line&lt;23&gt;"})
    EXPECT_NE(page.find(there), page.npos) << there;
  for (const char* not_there : {"line&lt;16&gt;", "line&lt;24&gt;"})
    EXPECT_EQ(page.find(not_there), page.npos) << not_there;
}

TEST_F(SourcesTest, TheEndsOfAFileAreNotPassed) {
  const std::string page = Section(File("a.py", "one\ntwo"), 2);
  EXPECT_NE(page.find("<code>one</code>"), page.npos);
  EXPECT_NE(page.find("<code>two</code>"), page.npos);
}

TEST_F(SourcesTest, OneLineSaysWhyThereIsNoSource) {
  const std::string path = File("a.py", "one\n");
  EXPECT_NE(Section(path, 1, kWritten - 1).find("changed since"),
            std::string::npos);
  EXPECT_NE(Section(path, 2).find("has fewer lines than what ran"),
            std::string::npos);
  EXPECT_NE(Section(path, 1, kWritten, "elsewhere").find("another machine"),
            std::string::npos);
  EXPECT_EQ(Section(path, 1, kWritten, "elsewhere").find("<code>"),
            std::string::npos);
  EXPECT_EQ(Section("<string>", 1), "") << "nobody expects it";
}

}  // namespace
}  // namespace sonde
