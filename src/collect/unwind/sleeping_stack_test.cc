#include "collect/unwind/sleeping_stack.h"

#include <gtest/gtest.h>

#if defined(__x86_64__)

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "collect/proc/proc_file.h"
#include "collect/stacks/process_memory.h"

namespace sonde {
namespace {

std::atomic<pid_t> sleeper{0};
std::atomic<uint64_t> returns_to{0};
volatile int sink = 0;

[[gnu::noinline]] void SleepOn(int fd) {
  returns_to = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  sleeper = static_cast<pid_t>(::syscall(SYS_gettid));
  char byte;
  sink = static_cast<int>(::read(fd, &byte, 1));
}

// Its caller lies beyond what is copied first.
[[gnu::noinline]] void SleepDeep(int fd) {
  volatile char room[SleepingStack::kFirstBytes + 4096];
  room[0] = 1;
  SleepOn(fd);
  sink = room[0];
}

// Each call has its frame in rbp, for the room it takes is not known before.
[[gnu::noinline]] void SleepFramed(int fd, int deep) {
  auto* const room = static_cast<volatile char*>(
      __builtin_alloca(static_cast<size_t>(64 + deep)));
  room[0] = 1;
  if (deep > 0) {
    SleepFramed(fd, deep - 1);
  } else {
    returns_to = reinterpret_cast<uint64_t>(__builtin_return_address(0));
    sleeper = static_cast<pid_t>(::syscall(SYS_gettid));
    char byte;
    sink = static_cast<int>(::read(fd, &byte, 1));
  }
  sink = room[0];
}

// A thread of this process that sleeps until the end of the test.
class SleepingStackTest : public testing::Test {
 protected:
  void Sleep(void (*how)(int)) {
    ASSERT_EQ(::pipe(ends_), 0);
    sleeper = 0;
    thread_ = std::thread(how, ends_[0]);
    while (!at_) {
      std::this_thread::yield();
      if (sleeper == 0) continue;
      const auto at = ParseBlockedAt(ReadText(
          fmt::format("/proc/{}/task/{}/syscall", ::getpid(), sleeper.load())));
      if (at && at->call == SYS_read) at_ = at;
    }
  }
  void TearDown() override {
    ::close(ends_[1]);
    if (thread_.joinable()) thread_.join();
    ::close(ends_[0]);
  }
  bool Finds(uint64_t pc) const {
    return std::any_of(out_.frames.begin(), out_.frames.end(),
                       [&](const NativeFrame& one) { return one.pc == pc; });
  }

  int ends_[2] = {-1, -1};
  std::thread thread_;
  std::optional<BlockedAt> at_;
  CodeFiles files_;
  Unwinder unwinder_;
  SleepingStack reader_{unwinder_};
  ProcessCode code_{::getpid(), files_};
  NativeStack out_;
};

TEST_F(SleepingStackTest, FindsWhoCalled) {
  Sleep(SleepOn);
  reader_.Read(code_, *at_, out_);
  EXPECT_TRUE(Finds(returns_to));
  EXPECT_EQ(out_.frames.front().pc, at_->pc);
}

TEST_F(SleepingStackTest, CopiesMoreWhereCallersLieFurtherUp) {
  Sleep(SleepDeep);
  reader_.Read(code_, *at_, out_);
  EXPECT_TRUE(Finds(returns_to));
  EXPECT_GT(out_.frames.size(), 3u);
}

TEST_F(SleepingStackTest, FollowsFramePointersThatItHasToFind) {
  Sleep([](int fd) { SleepFramed(fd, 5); });
  reader_.Read(code_, *at_, out_);
  EXPECT_TRUE(Finds(returns_to));
  EXPECT_EQ(out_.end, UnwindEnd::kComplete) << NameOf(out_.end);
  EXPECT_GT(out_.frames.size(), 5u);
}

TEST_F(SleepingStackTest, PlacesThatAreNoneHaveNoCallers) {
  for (const BlockedAt& at :
       {BlockedAt{0, 0, 0}, BlockedAt{0, 16, 16}, BlockedAt{0, ~0ull, ~0ull},
        BlockedAt{0, reinterpret_cast<uint64_t>(&sink), 1}}) {
    reader_.Read(code_, at, out_);
    EXPECT_TRUE(out_.frames.empty());
  }
}

TEST(ProcessMemory, ReadsUpToTheFirstPageThatCannotBeRead) {
  constexpr size_t kPage = 4096;
  auto* const at =
      static_cast<uint8_t*>(::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(at, MAP_FAILED);
  at[2 * kPage - 1] = 7;
  ::mprotect(at + 2 * kPage, kPage, PROT_NONE);
  ProcessMemory memory(::getpid());
  std::vector<uint8_t> out(3 * kPage);
  const auto address = reinterpret_cast<uint64_t>(at);
  EXPECT_EQ(memory.ReadUpTo(address + 100, out), 2 * kPage - 100);
  EXPECT_EQ(out[2 * kPage - 101], 7);
  EXPECT_EQ(memory.ReadUpTo(address, std::span(out).first(10)), 10u);
  EXPECT_EQ(memory.ReadUpTo(address + 2 * kPage, out), 0u);
  ::munmap(at, 3 * kPage);
}

}  // namespace
}  // namespace sonde

#endif
