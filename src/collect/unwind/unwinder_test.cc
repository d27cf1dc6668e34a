#include "collect/unwind/unwinder.h"

#include <gtest/gtest.h>

#if defined(__x86_64__)

#include <alloca.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "collect/stacks/elf_file.h"
#include "collect/stacks/process_memory.h"

namespace sonde {
namespace {

constexpr size_t kCopyBytes = 16 << 10;

// A moment of a thread of this process, as a profiler would have it, and what
// the C library thinks of it.
struct Moment {
  static constexpr int kMostCallers = 512;

  Registers registers;
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> callers;  // without the innermost

  StackCopy copy() const { return {registers[kRsp], bytes}; }
  // A handler of signals must not allocate.
  void Reserve() {
    bytes.reserve(kCopyBytes);
    callers.reserve(kMostCallers);
    AskLibrary();  // which loads what it needs the first time
    callers.clear();
  }

  void Take(const ucontext_t& context, size_t most = kCopyBytes) {
    constexpr std::pair<Register, int> kFrom[] = {
        {kRbx, REG_RBX}, {kRbp, REG_RBP}, {kR10, REG_R10},
        {kR12, REG_R12}, {kR13, REG_R13}, {kR14, REG_R14},
        {kR15, REG_R15}, {kRsp, REG_RSP}, {kRip, REG_RIP}};
    for (const auto& [number, at] : kFrom)
      registers.Set(number,
                    static_cast<uint64_t>(context.uc_mcontext.gregs[at]));
    // Not by memcpy(), which sanitizers watch. The stack may end before.
    ProcessMemory memory(::getpid());
    bytes.assign(most, 0);
    while (!bytes.empty() && memory.Read(registers[kRsp], bytes) != 0)
      bytes.resize(bytes.size() - 64);
  }
  [[gnu::noinline]] void AskLibrary() {
    const void* const asker = __builtin_return_address(0);
    void* list[kMostCallers];
    void** const end = list + ::backtrace(list, kMostCallers);
    callers.clear();
    // Sanitizers add a function of theirs at the beginning.
    for (void** at = std::find(list, end, asker); at != end; ++at)
      if (*at != asker) callers.push_back(reinterpret_cast<uint64_t>(*at));
  }
};

volatile int sink = 0;

// Takes the moment in the function that has this line: no call of a function
// that is left again could.
#define TAKE_MOMENT(moment)          \
  do {                               \
    ucontext_t here_;                \
    ::getcontext(&here_);            \
    (moment).Take(here_);            \
    (moment).AskLibrary();           \
    sink = sink + 1; /* behind it */ \
  } while (0)

struct UnwinderTest : testing::Test {
  NativeStack Unwind(const Moment& moment) {
    NativeStack out;
    unwinder.Unwind(code, moment.registers, moment.copy(), out);
    return out;
  }
  static std::vector<uint64_t> CallersOf(const NativeStack& stack) {
    std::vector<uint64_t> out;
    for (size_t i = 1; i < stack.frames.size(); ++i)
      out.push_back(stack.frames[i].pc);
    return out;
  }

  CodeFiles files;
  ProcessCode code{::getpid(), files};
  Unwinder unwinder;
};

[[gnu::noinline]] void Innermost(Moment& moment) { TAKE_MOMENT(moment); }

// Optimised code has no frame pointer.
[[gnu::noinline]] void WithoutPointer(Moment& moment) {
  int many[40];
  for (int& one : many) one = sink;
  Innermost(moment);
  sink = many[sink & 7];
}

[[gnu::noinline]] void WithAlloca(Moment& moment, size_t size) {
  char* const room = static_cast<char*>(alloca(size));
  std::memset(room, 1, size);
  WithoutPointer(moment);
  sink = room[size / 2];
}

// Its stack is aligned by hand, which only an expression can describe.
[[gnu::noinline]] void Aligned(Moment& moment, size_t size) {
  alignas(128) volatile char block[256];
  char* const room = static_cast<char*>(alloca(size));
  block[3] = room[0] = 1;
  WithAlloca(moment, size);
  sink = block[3] + room[0];
}

// As libraries of mathematics have them: written by hand, without a table.
extern "C" void sonde_test_without_table(void (*call)(void*), void* what);
asm(R"(
  .text
  .p2align 4
  .type sonde_test_without_table, @function
sonde_test_without_table:
  endbr64
  sub $0x48, %rsp
  mov %rbx, (%rsp)
  mov %r12, 0x20(%rsp)
  mov %rdi, %rax
  mov %rsi, %rdi
  mov $77, %ebx
  mov $78, %r12d
  call *%rax
  mov (%rsp), %rbx
  mov 0x20(%rsp), %r12
  add $0x48, %rsp
  ret
  .size sonde_test_without_table, . - sonde_test_without_table
)");

[[gnu::noinline]] void BelowAssembler(void* moment) {
  TAKE_MOMENT(*static_cast<Moment*>(moment));
}

[[gnu::noinline]] void ThroughAssembler(Moment& moment, Moment& outer) {
  TAKE_MOMENT(outer);
  sonde_test_without_table(BelowAssembler, &moment);
  sink = sink + 1;
}

TEST_F(UnwinderTest, AFunctionWithoutATableIsKnownByItsBeginning) {
  Moment moment, outer;
  ThroughAssembler(moment, outer);
  const NativeStack stack = Unwind(moment);
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  const std::vector<uint64_t> callers = CallersOf(stack);
  ASSERT_EQ(callers.size(), outer.callers.size() + 2);
  const auto assembler = reinterpret_cast<uint64_t>(&sonde_test_without_table);
  EXPECT_LT(callers[0] - assembler, 64u);
  EXPECT_TRUE(std::equal(outer.callers.begin(), outer.callers.end(),
                         callers.begin() + 2));
  EXPECT_TRUE(stack.frames[2].guessed);
  EXPECT_FALSE(stack.frames[3].guessed);
}

TEST_F(UnwinderTest, EveryCallerIsFoundUpToTheOutermost) {
  Moment moment;
  Aligned(moment, 1000);
  const NativeStack stack = Unwind(moment);
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  EXPECT_EQ(CallersOf(stack), moment.callers);
  ASSERT_GT(stack.frames.size(), 8u);
  EXPECT_FALSE(stack.frames[0].is_return_address);
  EXPECT_TRUE(stack.frames[1].is_return_address);
  for (const NativeFrame& frame : stack.frames) EXPECT_FALSE(frame.guessed);
  EXPECT_EQ(stack.frames[1].file->path().ends_with("/unit_tests"), true);
}

TEST_F(UnwinderTest, APlaceIsLookedUpInTablesOnce) {
  Moment moment;
  Aligned(moment, 1000);
  const NativeStack first = Unwind(moment);
  const uint64_t lookups = unwinder.lookups();
  EXPECT_EQ(lookups, first.frames.size());
  const NativeStack second = Unwind(moment);
  EXPECT_EQ(unwinder.lookups(), lookups);
  EXPECT_EQ(CallersOf(second), CallersOf(first));
}

// What a signal handler knows, and what interrupted code is like.
struct Interrupted {
  Moment there;  // where the signal came
  Moment here;   // in the handler
};
Interrupted* interrupted = nullptr;

void OnSignal(int, siginfo_t*, void* context) {
  interrupted->there.Take(*static_cast<ucontext_t*>(context));
  TAKE_MOMENT(interrupted->here);
}

int RaiseOnce(const void* a, const void* b) {
  if (interrupted->here.bytes.empty()) ::raise(SIGUSR1);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

TEST_F(UnwinderTest, ASignalInsideALibrarysCallbackIsPassed) {
  Interrupted moments;
  moments.there.Reserve();
  moments.here.Reserve();
  interrupted = &moments;
  struct sigaction action = {}, before = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  int numbers[] = {3, 1, 2, 7, 5};
  ::qsort(numbers, 5, sizeof(int), RaiseOnce);
  ::sigaction(SIGUSR1, &before, nullptr);
  const NativeStack whole = Unwind(moments.here);
  EXPECT_EQ(whole.end, UnwindEnd::kComplete) << NameOf(whole.end);
  EXPECT_EQ(CallersOf(whole), moments.here.callers);
  const NativeStack stack = Unwind(moments.there);
  EXPECT_EQ(stack.end, UnwindEnd::kComplete);
  ASSERT_GT(whole.frames.size(), stack.frames.size());
  // The interrupted code is the same, seen from both sides.
  const size_t above = whole.frames.size() - stack.frames.size();
  for (size_t i = 0; i < stack.frames.size(); ++i)
    EXPECT_EQ(stack.frames[i].pc, whole.frames[above + i].pc);
  EXPECT_FALSE(whole.frames[above].is_return_address);
  EXPECT_TRUE(whole.frames[above + 1].is_return_address);
}

// Puts words below the stack that was copied, as calls would.
void Push(Moment& moment, std::initializer_list<uint64_t> words) {
  for (const uint64_t word : words) {
    uint8_t bytes[8];
    std::memcpy(bytes, &word, sizeof(word));
    moment.bytes.insert(moment.bytes.begin(), bytes, bytes + 8);
    moment.registers.Set(kRsp, moment.registers[kRsp] - 8);
  }
}

TEST_F(UnwinderTest, AnEntryOfTheLinkageTableIsPassed) {
  auto elf = ElfFile::Open(Fd(::open("/proc/self/exe", O_RDONLY)), "exe");
  ASSERT_TRUE(elf.ok());
  const auto plt = elf.value().SectionAddress(".plt");
  if (!plt) GTEST_SKIP() << "this program has no such table";
  Moment moment;
  Innermost(moment);
  const uint64_t pc = moment.registers[kRip];
  const auto place = code.Find(pc);
  ASSERT_TRUE(place);
  const uint64_t entry = pc - place->address + *plt + 32;
  // Called just now: the return address is the last word.
  Push(moment, {pc});
  moment.registers.Set(kRip, entry);
  NativeStack stack = Unwind(moment);
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  ASSERT_GT(stack.frames.size(), 2u);
  EXPECT_EQ(stack.frames[1].pc, pc);
  // Behind its push.
  Push(moment, {1});
  moment.registers.Set(kRip, entry + 11);
  stack = Unwind(moment);
  EXPECT_EQ(stack.end, UnwindEnd::kComplete) << NameOf(stack.end);
  ASSERT_GT(stack.frames.size(), 2u);
  EXPECT_EQ(stack.frames[1].pc, pc);
}

TEST_F(UnwinderTest, AStackLongerThanTheCopyEndsThere) {
  Moment moment;
  Aligned(moment, 1000);
  const NativeStack whole = Unwind(moment);
  size_t last = 0;
  for (size_t size = 0; size <= moment.bytes.size(); size += 64) {
    NativeStack part;
    const StackCopy copy = {moment.registers[kRsp],
                            std::span(moment.bytes).first(size)};
    unwinder.Unwind(code, moment.registers, copy, part);
    ASSERT_GE(part.frames.size(), 1u);
    EXPECT_GE(part.frames.size(), last) << "more stack, fewer frames";
    last = part.frames.size();
    EXPECT_EQ(part.end, part.frames.size() == whole.frames.size()
                            ? part.end
                            : UnwindEnd::kEndOfCopy);
    for (size_t i = 0; i < part.frames.size(); ++i)
      EXPECT_EQ(part.frames[i].pc, whole.frames[i].pc);
  }
  EXPECT_EQ(last, whole.frames.size());
}

// A thread that waits in a system call, and the callers that it had.
struct Waiting {
  int fd = -1;
  std::atomic<pid_t> tid = 0;
  uint64_t caller = 0;
};

[[gnu::noinline]] void Wait(Waiting& waiting) {
  waiting.caller = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  waiting.tid = static_cast<pid_t>(::syscall(SYS_gettid));
  char byte = 0;
  while (::syscall(SYS_read, waiting.fd, &byte, 1) == -1) {
  }
  sink = byte;
}

TEST_F(UnwinderTest, OfAThreadThatWaitsTwoRegistersMayDo) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Waiting waiting;
  waiting.fd = ends[0];
  std::thread thread([&] {
    Wait(waiting);
    sink = sink + 1;
  });
  unsigned long long pc = 0, sp = 0;
  for (int i = 0; i < 1000 && sp == 0; ++i) {
    ::usleep(1000);
    if (waiting.tid == 0) continue;
    // "0 0x3 0x7ffe... (six arguments) SP PC"
    const auto text =
        ReadFile(fmt::format("/proc/self/task/{}/syscall", waiting.tid.load()));
    if (text.ok())
      std::sscanf(text.value().c_str(), "0 %*s %*s %*s %*s %*s %*s %llx %llx",
                  &sp, &pc);
  }
  if (sp != 0) {
    Moment moment;
    moment.registers.Set(kRsp, sp);
    moment.registers.Set(kRip, pc);
    moment.bytes.resize(512);
    ProcessMemory memory(::getpid());
    ASSERT_EQ(memory.Read(sp, moment.bytes), 0);
    const NativeStack stack = Unwind(moment);
    ASSERT_GT(stack.frames.size(), 1u) << NameOf(stack.end);
    EXPECT_EQ(stack.frames[0].pc, pc);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const std::vector<uint64_t> callers = CallersOf(stack);
    EXPECT_NE(std::find(callers.begin(), callers.end(), waiting.caller),
              callers.end())
        << NameOf(stack.end);
#endif
  }
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  thread.join();
  ::close(ends[0]), ::close(ends[1]);
  if (sp == 0) GTEST_SKIP() << "the kernel does not tell where threads wait";
}

}  // namespace
}  // namespace sonde

#endif
