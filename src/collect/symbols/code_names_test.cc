#include "collect/symbols/code_names.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/fd.h"
#include "collect/proc/run_tool.h"
#include "collect/stacks/elf_file.h"
#include "collect/symbols/name_sink.h"

namespace sonde {
namespace {

constexpr char kProgram[] = R"(volatile int sink;
namespace box {
static inline __attribute__((always_inline)) void Inner(int x) {
  sink = x;
}
__attribute__((noinline)) void Outer(int x) {
  Inner(x);
}
}  // namespace box
static __attribute__((noinline)) void Local(int x) { sink = x + 1; }
extern "C" __attribute__((aligned(256))) int sonde_exported(int x) {
  box::Outer(x);
  Local(x);
  return 0;
}
namespace rust {
__attribute__((noinline)) void Write(int x) __asm__("_RNvC4rust5Write");
void Write(int x) { sink = x + 2; }
}  // namespace rust
int main() {
  rust::Write(4);
  return sonde_exported(3);
}
)";

// The program, compiled in a directory of its own in several ways.
struct CodeNamesTest : testing::Test {
  CodeNamesTest() {
    EXPECT_NE(::mkdtemp(dir), nullptr);
    std::ofstream(Path("made.cc")) << kProgram;
  }
  ~CodeNamesTest() override {
    for (const char* name : {"made.cc", "a", "b"}) ::unlink(Path(name).c_str());
    ::rmdir(dir);
  }
  std::string Path(const char* name) const {
    return std::string(dir) + "/" + name;
  }
  bool Tool(const std::vector<std::string>& words) const {
    return RunTool(words, 60 * kNsPerSec).has_value();
  }
  bool Compile(std::vector<std::string> options) const {
    options.insert(options.begin(), "c++");
    options.insert(options.end(), {"-O2", "-Wl,--build-id", "-rdynamic",
                                   Path("made.cc"), "-o", Path("a")});
    return Tool(options);
  }
  // Addresses of functions, as nm has them, before anything is stripped.
  uint64_t AddressOf(const std::string& linker_name) const {
    const auto text = RunTool({"nm", Path("a")}, kNsPerSec * 10);
    const size_t at = text ? text->find(" " + linker_name + "\n") : 0;
    if (!text || at == std::string::npos) return 0;
    const size_t line = text->rfind('\n', at) + 1;
    return std::strtoull(text->c_str() + line, nullptr, 16);
  }
  NamedCode Names(const std::vector<uint64_t>& addresses) const {
    const Fd fd(::open(Path("a").c_str(), O_RDONLY | O_CLOEXEC));
    return NameCode({{Path("a"), "", fd.get(), addresses}}).code.at(0);
  }

  char dir[32] = "/tmp/sonde-names-XXXXXX";
};

#define NEEDS_LIBRARY()                                              \
  if (void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL)) \
    ::dlclose(library);                                              \
  else                                                               \
    GTEST_SKIP() << "libdw is not installed"

TEST_F(CodeNamesTest, InlinedFunctionsComeFirstWithFilesAndLines) {
  NEEDS_LIBRARY();
  ASSERT_TRUE(Compile({"-g"}));
  const uint64_t outer = AddressOf("_ZN3box5OuterEi");
  ASSERT_NE(outer, 0u);
  const NamedCode named = Names({outer, AddressOf("_ZL5Locali")});
  EXPECT_EQ(named.why_not, "");
  ASSERT_EQ(named.places.at(1).size(), 1u);
  EXPECT_EQ(named.places[1][0],
            (PlaceName{"Local(int)", Path("made.cc"), 10, false}));
  ASSERT_EQ(named.places.at(0).size(), 2u);
  const PlaceName& inner = named.places[0][0];
  EXPECT_EQ(inner.function, "box::Inner");
  EXPECT_EQ(inner.file, Path("made.cc"));
  EXPECT_EQ(inner.line, 4u);
  EXPECT_TRUE(inner.inlined);
  const PlaceName& around = named.places[0][1];
  EXPECT_EQ(around.function, "box::Outer(int)");
  EXPECT_EQ(around.file, Path("made.cc"));
  EXPECT_EQ(around.line, 7u);
  EXPECT_FALSE(around.inlined);
}

TEST_F(CodeNamesTest, ANewNameOfRustIsMadeOfItsNamespaces) {
  NEEDS_LIBRARY();
  ASSERT_TRUE(Compile({"-g"}));
  const NamedCode named = Names({AddressOf("_RNvC4rust5Write")});
  ASSERT_EQ(named.places.at(0).size(), 1u);
  EXPECT_EQ(named.places[0][0].function, "rust::Write");
}

TEST_F(CodeNamesTest, WhatLiesBetweenFunctionsHasNoName) {
  NEEDS_LIBRARY();
  for (const char* option : {"-g", "-g0"}) {
    ASSERT_TRUE(Compile({option}));
    const uint64_t exported = AddressOf("sonde_exported");
    ASSERT_NE(exported, 0u);
    const NamedCode named = Names({exported, exported - 1});
    EXPECT_EQ(named.places.at(0).size(), 1u) << option;
    EXPECT_TRUE(named.places.at(1).empty()) << option;
  }
}

TEST_F(CodeNamesTest, WithoutDebugInformationTheLinkersNameIsTold) {
  NEEDS_LIBRARY();
  ASSERT_TRUE(Compile({}));
  const uint64_t local = AddressOf("_ZL5Locali");
  const uint64_t outer = AddressOf("_ZN3box5OuterEi");
  ASSERT_NE(local, 0u);
  const NamedCode named = Names({local, outer, 0});
  ASSERT_EQ(named.places.at(0).size(), 1u);
  EXPECT_EQ(named.places[0][0], (PlaceName{"Local(int)", "", 0, false}));
  EXPECT_EQ(named.places[1][0].function, "box::Outer(int)");
  EXPECT_TRUE(named.places[2].empty()) << "no function is there";
}

TEST_F(CodeNamesTest, OfAStrippedFileOnlyWhatIsExportedHasAName) {
  NEEDS_LIBRARY();
  ASSERT_TRUE(Compile({}));
  const uint64_t local = AddressOf("_ZL5Locali");
  const uint64_t exported = AddressOf("sonde_exported");
  ASSERT_TRUE(Tool({"strip", Path("a")}));
  const NamedCode named = Names({local, exported});
  EXPECT_TRUE(named.places.at(0).empty());
  ASSERT_EQ(named.places.at(1).size(), 1u);
  EXPECT_EQ(named.places[1][0].function, "sonde_exported");
}

TEST_F(CodeNamesTest, DebugInformationOfAnotherFileIsFoundByItsLink) {
  NEEDS_LIBRARY();
  ASSERT_TRUE(Compile({"-g"}));
  const uint64_t outer = AddressOf("_ZN3box5OuterEi");
  ASSERT_TRUE(Tool({"objcopy", "--only-keep-debug", Path("a"), Path("b")}));
  ASSERT_TRUE(Tool({"strip", "-g", Path("a")}));
  ASSERT_EQ(Names({outer}).places.at(0).size(), 1u) << "not yet";
  ASSERT_TRUE(Tool({"objcopy", "--add-gnu-debuglink=" + Path("b"), Path("a")}));
  ::chmod(dir, 0755);  // who names has another user
  const NamedCode named = Names({outer});
  ASSERT_EQ(named.places.at(0).size(), 2u);
  EXPECT_EQ(named.places[0][0].function, "box::Inner");
}

TEST_F(CodeNamesTest, WhatLiesAtAPathIsNamedIfItsBuildIdIsTheSame) {
  NEEDS_LIBRARY();
  ASSERT_TRUE(Compile({}));
  const uint64_t exported = AddressOf("sonde_exported");
  const auto elf = ElfFile::Open(Fd(::open(Path("a").c_str(), O_RDONLY)), "a");
  ASSERT_TRUE(elf.ok());
  const std::string id = elf.value().BuildId();
  ASSERT_FALSE(id.empty());
  const CodeNames names = NameCode({{Path("a"), id, -1, {exported}},
                                    {Path("a"), "00ff", -1, {exported}},
                                    {Path("a"), "", -1, {exported}},
                                    {Path("gone"), id, -1, {exported}}});
  ASSERT_EQ(names.code[0].places.at(0).size(), 1u);
  EXPECT_EQ(names.code[0].places[0][0].function, "sonde_exported");
  EXPECT_EQ(names.code[0].why_not, "");
  for (const size_t i : {1, 2}) {
    EXPECT_TRUE(names.code[i].places.at(0).empty());
    EXPECT_EQ(names.code[i].why_not, "another file may have its name by now");
  }
  EXPECT_EQ(names.code[3].why_not, "the file is gone");
  // That neither has one says nothing.
  ASSERT_TRUE(
      Tool({"objcopy", "--remove-section=.note.gnu.build-id", Path("a")}));
  EXPECT_NE(NameCode({{Path("a"), "", -1, {exported}}}).code[0].why_not, "");
}

Fd FileOf(const std::string& bytes) {
  Fd fd(::memfd_create("names", MFD_CLOEXEC));
  EXPECT_EQ(WriteAll(fd.get(), bytes.data(), bytes.size()), 0);
  return fd;
}

TEST_F(CodeNamesTest, FilesThatLieHaveNoNamesAndDoNoHarm) {
  NEEDS_LIBRARY();
  ASSERT_TRUE(Compile({"-g"}));
  auto whole = ReadFile(Path("a"), 16 << 20);
  ASSERT_TRUE(whole.ok());
  const Fd text = FileOf("#!/bin/sh\n"), none = FileOf("");
  std::string bytes = whole.Take();
  const Fd cut = FileOf(bytes.substr(0, bytes.size() / 2));
  // The table of sections claims to be huge.
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.e_shnum = 0xfff0;
  std::memcpy(bytes.data(), &header, sizeof(header));
  const Fd lying = FileOf(bytes);
  const CodeNames names = NameCode({{"text", "", text.get(), {0x1000}},
                                    {"none", "", none.get(), {0x1000}},
                                    {"cut", "", cut.get(), {~uint64_t{0}}},
                                    {"lying", "", lying.get(), {0x1000}}});
  for (const size_t i : {0, 1})
    EXPECT_EQ(names.code[i].why_not, "it is no file of code");
  for (const NamedCode& code : names.code) {
    EXPECT_TRUE(code.places.at(0).empty());
  }
}

// What the reader of a hostile file may be made to do, by the file's name.
void Misbehave(const CodeToName& code, NameSink& sink) {
  if (code.path == "crash") {
    sink.Name(0, "before", "", 1, false);
    ::raise(SIGSEGV);
  }
  if (code.path == "stall")
    for (;;) ::pause();
  if (code.path == "exit") ::_exit(0);
  if (code.path == "bomb")
    for (;;) *static_cast<volatile char*>(::malloc(256 << 20)) = 1;
  if (code.path == "outside") sink.Name(1000, "x", "", 1, false);
  if (code.path == "endless")
    for (;;) sink.Name(0, "again", "", 1, true);
  if (code.path == "ugly")
    sink.Name(0, "a\x1b[31mb" + std::string(3000, 'c'), "\xff", 1, false);
  if (code.path == "good") {
    sink.Name(0, "", "nameless.cc", 7, true);
    sink.Name(0, "good", "good.cc", 7, false);
  }
}

CodeNames NamesOf(const std::vector<std::string>& paths,
                  NamingLimits limits = {}) {
  limits.name = Misbehave;
  std::vector<CodeToName> wanted;
  for (const std::string& path : paths) wanted.push_back({path, "", 0, {1}});
  return NameCode(wanted, limits);
}

bool IsGood(const NamedCode& code) {
  return code.why_not.empty() && code.places.at(0).size() == 1 &&
         code.places[0][0] == PlaceName{"good", "good.cc", 7, false};
}

TEST(NamingChild, AFileThatKillsItCostsItsOwnNamesOnly) {
  const CodeNames names =
      NamesOf({"good", "crash", "good", "exit", "outside", "good"});
  for (const size_t i : {0, 2, 5}) EXPECT_TRUE(IsGood(names.code[i])) << i;
  for (const size_t i : {1, 3, 4})
    EXPECT_EQ(names.code[i].why_not, "its debug information crashes the reader")
        << i;
  EXPECT_EQ(names.code[1].places[0].at(0).function, "before")
      << "what was found until then";
}

TEST(NamingChild, AFileThatStallsItCostsItsOwnTimeOnly) {
  NamingLimits limits;
  limits.file_ns = 500 * kNsPerMs;
  const int64_t from_ns = NowNs();
  const CodeNames names = NamesOf({"stall", "good", "endless", "good"}, limits);
  EXPECT_LT(NowNs() - from_ns, 8 * kNsPerSec);
  EXPECT_EQ(names.code[0].why_not, "its debug information takes too long");
  EXPECT_TRUE(IsGood(names.code[1]));
  EXPECT_EQ(names.code[2].why_not, "its debug information takes too long");
  EXPECT_EQ(names.code[2].places[0].size(), NameRecord::kMostDepth);
  EXPECT_TRUE(IsGood(names.code[3]));
}

TEST(NamingChild, WhenTheTimeIsUpTheRestSaysSo) {
  NamingLimits limits;
  limits.all_ns = kNsPerSec;
  const CodeNames names = NamesOf({"good", "stall", "good"}, limits);
  EXPECT_TRUE(IsGood(names.code[0]));
  for (const size_t i : {1, 2})
    EXPECT_EQ(names.code[i].why_not, "the time for names was up");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(NamingChild, ItsMemoryIsLimited) {
  const CodeNames names = NamesOf({"bomb", "good"});
  EXPECT_NE(names.code[0].why_not, "");
  EXPECT_TRUE(IsGood(names.code[1]));
}
#endif

TEST(NamingChild, TextsArePrintableAndShort) {
  const CodeNames names = NamesOf({"ugly"});
  const PlaceName& place = names.code[0].places[0].at(0);
  EXPECT_TRUE(place.function.starts_with("a\\x1b[31mbccc")) << place.function;
  EXPECT_LE(place.function.size(), PlaceName::kMostFunctionChars + 8);
  EXPECT_EQ(place.file, "\\xff");
}

// Tells of itself what it may do.
void Confess(const CodeToName&, NameSink& sink) {
  rlimit memory = {};
  ::getrlimit(RLIMIT_AS, &memory);
  const auto say = [&](bool yes) {
    sink.Name(0, yes ? "yes" : "no", "", 0, false);
  };
  say(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
  say(::geteuid() != 0);
  say(memory.rlim_cur != RLIM_INFINITY);
  say(::getenv("DEBUGINFOD_URLS") == nullptr);
  say(::fcntl(900, F_GETFD) == -1);
  say(::setuid(0) != 0);
  const auto first = ReadFile("/proc/self/oom_score_adj");
  say(first.ok() && first.value() == "1000\n");
}

TEST(NamingChild, ItHasNoPrivileges) {
  ASSERT_EQ(::dup2(2, 900), 900);
  ::setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
  NamingLimits limits;
  limits.name = Confess;
  const CodeNames names = NameCode({{"x", "", 0, {1}}}, limits);
  ::unsetenv("DEBUGINFOD_URLS");
  ::close(900);
  ASSERT_EQ(names.code[0].places[0].size(), 7u);
  for (const PlaceName& answer : names.code[0].places[0])
    EXPECT_EQ(answer.function, "yes") << &answer - &names.code[0].places[0][0];
}

}  // namespace
}  // namespace sonde
