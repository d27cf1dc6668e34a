#include "collect/unwind/process_code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "collect/stacks/mapped_file.h"
#include "collect/unwind/eh_frame.h"

namespace sonde {
namespace {

// Some place of this program.
int Here() { return 17; }

#if defined(__x86_64__)

TEST(ProcessCode, APlaceOfThisProgramHasItsFileAndAddress) {
  CodeFiles files;
  ProcessCode code(::getpid(), files);
  const uint64_t pc = reinterpret_cast<uint64_t>(&Here);
  const auto place = code.Find(pc);
  ASSERT_TRUE(place && place->file != nullptr);
  EXPECT_TRUE(place->file->path().ends_with("/unit_tests"));
  EXPECT_GE(place->file->fd(), 0);
  uint8_t bytes[16] = {};
  ASSERT_TRUE(place->file->Read(place->address, bytes));
  EXPECT_EQ(std::memcmp(bytes, reinterpret_cast<void*>(pc), sizeof(bytes)), 0);
  // The C library has a name of its own.
  const auto libc =
      code.Find(reinterpret_cast<uint64_t>(::dlsym(RTLD_DEFAULT, "getenv")));
  ASSERT_TRUE(libc && libc->file != nullptr);
  EXPECT_NE(libc->file, place->file);
  EXPECT_EQ(libc->file->build_id().size(), 40u);
  EXPECT_EQ(code.readings(), 1u);
}

TEST(ProcessCode, FilesAreSharedBetweenProcesses) {
  CodeFiles files;
  ProcessCode one(::getpid(), files), other(::getpid(), files);
  const uint64_t pc = reinterpret_cast<uint64_t>(&Here);
  EXPECT_EQ(one.Find(pc)->file, other.Find(pc)->file);
  EXPECT_EQ(files.all().size(), 1u);
}

TEST(ProcessCode, TheKernelsImageIsReadFromMemory) {
  const uint64_t base = ::getauxval(AT_SYSINFO_EHDR);
  if (base == 0) GTEST_SKIP() << "there is no vdso";
  CodeFiles files;
  ProcessCode code(::getpid(), files);
  const auto place = code.Find(base);
  ASSERT_TRUE(place && place->file != nullptr);
  EXPECT_EQ(place->file->path(), "[vdso]");
  int32_t first[2] = {};
  const uint64_t table = place->file->frames_address();
  ASSERT_TRUE(place->file->Read(
      table + 12, {reinterpret_cast<uint8_t*>(first), sizeof(first)}));
  EXPECT_EQ(
      EhFrame()
          .Find(*place->file, table + static_cast<uint64_t>(int64_t{first[0]}))
          .kind,
      UnwindRow::Kind::kTable);
  ProcessCode again(::getpid(), files);
  EXPECT_EQ(again.Find(base)->file, place->file);
}

TEST(ProcessCode, NewMappingsAreSeenButNotLookedForWithoutEnd) {
  CodeFiles files;
  ProcessCode code(::getpid(), files);
  ASSERT_TRUE(code.Find(reinterpret_cast<uint64_t>(&Here)));
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const uint64_t pc = reinterpret_cast<uint64_t>(memory);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(code.Find(8));
  EXPECT_LE(code.readings(), 2u);
  code.Changed();
  const auto place = code.Find(pc);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->file, nullptr) << "code of no file";
  EXPECT_EQ(place->address, pc);
  ::munmap(memory, 4096);
}

TEST(ProcessCode, OfAProcessThatIsGoneNothingIsFound) {
  CodeFiles files;
  ProcessCode code(0x7fffffff, files);
  EXPECT_FALSE(code.Find(reinterpret_cast<uint64_t>(&Here)));
}

#endif

// A file with one page of code, and a mapping of it in this process.
struct MappedPage {
  explicit MappedPage(const std::string& at) : path(at) {
    const Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0700));
    EXPECT_EQ(::ftruncate(fd.get(), 4096), 0);
    memory =
        ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
    EXPECT_NE(memory, MAP_FAILED);
  }
  ~MappedPage() {
    ::munmap(memory, 4096);
    ::unlink(path.c_str());
  }
  uint64_t pc() const { return reinterpret_cast<uint64_t>(memory) + 0x123; }

  std::string path;
  void* memory;
};

struct CodeFilesTest : testing::Test {
  CodeFilesTest() { EXPECT_NE(::mkdtemp(dir), nullptr); }
  ~CodeFilesTest() override { ::rmdir(dir); }
  std::string Path(const char* name) const {
    return std::string(dir) + "/" + name;
  }

  char dir[32] = "/tmp/sonde-code-XXXXXX";
};

TEST_F(CodeFilesTest, WhatIsNoProgramHasAPathAndAnOffset) {
  const MappedPage page(Path("a"));
  CodeFiles files;
  ProcessCode code(::getpid(), files);
  const auto place = code.Find(page.pc());
  ASSERT_TRUE(place && place->file != nullptr);
  EXPECT_EQ(place->file->path(), page.path);
  EXPECT_EQ(place->address, 0x123u);
  EXPECT_EQ(place->file->frames_bytes(), 0u);
}

TEST_F(CodeFilesTest, AFileOfTheSameNameIsNotTheOneThatIsMapped) {
  const MappedPage page(Path("a"));
  const uint64_t begin = reinterpret_cast<uint64_t>(page.memory);
  Mapping mapping{begin, begin + 4096, 0, false, true, 0, page.path};
  struct stat mapped = {};
  ASSERT_EQ(::stat(page.path.c_str(), &mapped), 0);
  mapping.inode = mapped.st_ino;
  EXPECT_TRUE(OpenMapped(::getpid(), mapping).valid());
  // Another file takes the name.
  const Fd other(::open(Path("b").c_str(), O_RDWR | O_CREAT, 0700));
  ASSERT_EQ(::rename(Path("b").c_str(), page.path.c_str()), 0);
  const Fd fd = OpenMapped(::getpid(), mapping);
  struct stat got = {};
  if (fd.valid()) {
    ASSERT_EQ(::fstat(fd.get(), &got), 0);
    EXPECT_EQ(got.st_ino, mapped.st_ino) << "by map_files";
  }
}

TEST_F(CodeFilesTest, APipeOfThatNameDoesNotHoldUsUp) {
  const MappedPage page(Path("a"));
  ASSERT_EQ(::unlink(page.path.c_str()), 0);
  ASSERT_EQ(::mkfifo(page.path.c_str(), 0600), 0);
  CodeFiles files;
  ProcessCode code(::getpid(), files);
  const auto place = code.Find(page.pc());
  ASSERT_TRUE(place && place->file != nullptr);
  EXPECT_EQ(place->file->path(), page.path) << "without \" (deleted)\"";
}

#if defined(__x86_64__)

TEST_F(CodeFilesTest, AtMostSoManyAreOpenAndTheOthersComeBack) {
  CodeFiles files(1);
  ProcessCode code(::getpid(), files);
  CodeFile* const own = code.Find(reinterpret_cast<uint64_t>(&Here))->file;
  CodeFile* const libc =
      code.Find(reinterpret_cast<uint64_t>(::dlsym(RTLD_DEFAULT, "getenv")))
          ->file;
  EXPECT_LT(own->fd(), 0);
  EXPECT_GE(libc->fd(), 0);
  files.KeepOpen(*own);
  EXPECT_GE(own->fd(), 0);
  EXPECT_LT(libc->fd(), 0);
}

#endif

}  // namespace
}  // namespace sonde
