#include "analyze/facts/wait_facts.h"

#include <gtest/gtest.h>

#include "analyze/facts/made_text.h"

namespace sonde {
namespace {

constexpr std::string_view kRun =
    "process 1 pid=10 name=python3 start=0 end=10s exit=0\n"
    "thread 1 process=1 tid=10 start=0 end=10s\n"
    "thread 2 process=1 tid=11 start=0 end=10s\n"
    "frame 1 function=load file=/home/u/train.py line=31\n"
    "frame 2 function=Queue.get file=/usr/lib/python3.11/queue.py line=171\n"
    "frame 3 function=Condition.wait file=/usr/lib/python3.11/threading.py "
    "line=320\n"
    "frame 4 function=futex file=[kernel]\n"
    "frame 5 function=Thread.join file=/usr/lib/python3.11/threading.py "
    "line=1112\n"
    "stack 1 frame=1\n"
    "stack 2 parent=1 frame=2\n"
    "stack 3 parent=2 frame=3\n"
    "stack 4 parent=3 frame=4\n"
    "stack 5 parent=1 frame=5\n"
    "stack 6 parent=5 frame=4\n"
    "stack 7 parent=1 frame=4\n"
    "stack 8 frame=4\n"
    "stack 9 frame=3\n"
    "stack 10 parent=9 frame=4\n"
    "frame 6 function=HTTPConnection.request "
    "file=/usr/lib/python3/dist-packages/urllib3/connection.py line=9\n"
    "frame 7 function=recvfrom file=[kernel]\n"
    "stack 11 parent=1 frame=6\n"
    "stack 12 parent=11 frame=7\n";

std::vector<WaitFacts> WaitsOf(std::string_view samples) {
  return FactsOfText(kRun, samples).code.waits;
}

TEST(WaitFacts, AQueueAJoinAndALockAreToldApart) {
  const auto waits = WaitsOf(
      "sample 1s thread=1 stack=4 weight=3s waiting\n"
      "sample 2s thread=1 stack=6 weight=2s waiting\n"
      "sample 3s thread=1 stack=7 weight=1s waiting\n");
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[0].kind, WaitKind::kQueue);
  EXPECT_EQ(waits[1].kind, WaitKind::kThread);
  EXPECT_EQ(waits[2].kind, WaitKind::kLock);
  EXPECT_EQ(CallWaitPlace(waits[0]),
            "load (train.py:31), in Queue.get (queue.py:171)");
  EXPECT_EQ(CallWaitPlace(waits[2]), "load (train.py:31)");
  EXPECT_EQ(waits[0].ns, 3'000'000'000u);
  EXPECT_EQ(waits[0].call, "futex");
}

TEST(WaitFacts, AConnectionOfANetworkIsNoQueue) {
  const auto waits = WaitsOf("sample 1s thread=1 stack=12 weight=3s waiting\n");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].kind, WaitKind::kSocket);
}

TEST(WaitFacts, WaitsOfOneThreadAtOnePlaceAreOne) {
  const auto waits = WaitsOf(
      "sample 1s thread=1 stack=4 weight=1s waiting\n"
      "sample 2s thread=1 stack=4 weight=1s waiting\n"
      "sample 2s thread=2 stack=4 weight=1s waiting\n"
      "sample 3s thread=1 stack=4 weight=9s\n");
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].ns, 2'000'000'000u) << "running is no waiting";
  EXPECT_EQ(waits[0].samples, 2u);
  EXPECT_EQ(waits[1].thread, 2u);
}

TEST(WaitFacts, OfAPartOnlyWhatLiesInIt) {
  const Facts facts =
      FactsOfText(kRun,
                  "sample 4s thread=1 stack=4 weight=4s waiting\n"
                  "sample 9s thread=1 stack=7 weight=3s waiting\n");
  const auto waits = WaitsIn(*facts.store, facts.run.begin_ns + 7'000'000'000,
                             facts.run.begin_ns + 10'000'000'000);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].kind, WaitKind::kLock);
  EXPECT_NEAR(static_cast<double>(waits[0].ns), 2e9, 1e7);
}

TEST(WaitFacts, WithoutCodeOfTheProgramTheInnermostIsShown) {
  const auto waits = WaitsOf(
      "sample 1s thread=1 stack=10 weight=2s waiting\n"
      "sample 1s thread=2 stack=8 weight=1s waiting\n");
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(CallWaitPlace(waits[0]), "Condition.wait (threading.py:320)");
  EXPECT_EQ(CallWaitPlace(waits[1]), "futex");
}

// A native program, its main thread from the outermost on:
//   main > load > fread, of libc > read
// and a thread of a pool of a library:
//   start_thread, of libc > gomp_barrier, of libgomp > syscall, of libc > futex
constexpr std::string_view kNative =
    "process 1 pid=10 name=train start=0 end=10s exit=0\n"
    "thread 1 process=1 tid=10 start=0 end=10s\n"
    "thread 2 process=1 tid=11 start=0 end=10s\n"
    "module 1 path=/home/u/bin/train\n"
    "module 2 path=/usr/lib/x86_64-linux-gnu/libc.so.6\n"
    "module 3 path=/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n"
    "module 4 path=/usr/bin/python3.11\n"
    "frame 1 function=main module=1 file=train.cc line=90\n"
    "frame 2 function=load module=1 file=train.cc line=31\n"
    "frame 3 function=fread module=2\n"
    "frame 4 function=__read module=2\n"
    "frame 5 function=read file=[kernel]\n"
    "frame 6 function=start_thread module=2\n"
    "frame 7 function=gomp_barrier module=3\n"
    "frame 8 function=syscall module=2\n"
    "frame 9 function=futex file=[kernel]\n"
    "frame 10 function=take_gil module=4\n"
    "stack 1 frame=1\n"
    "stack 2 parent=1 frame=2\n"
    "stack 3 parent=2 frame=3\n"
    "stack 4 parent=3 frame=4\n"
    "stack 5 parent=4 frame=5\n"
    "stack 6 frame=6\n"
    "stack 7 parent=6 frame=7\n"
    "stack 8 parent=7 frame=8\n"
    "stack 9 parent=8 frame=9\n"
    "stack 10 parent=6 frame=10\n"
    "stack 11 parent=10 frame=9\n"
    "stack 12 parent=6 frame=8\n"
    "stack 13 parent=12 frame=9\n";

TEST(WaitFacts, NativeCodeOfTheProgramIsToldFromItsLibraries) {
  const auto waits =
      FactsOfText(kNative,
                  "sample 1s thread=1 stack=5 weight=3s waiting\n"
                  "sample 1s thread=2 stack=9 weight=2s waiting\n")
          .code.waits;
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(CallWaitPlace(waits[0]), "load (train.cc:31), in fread");
  EXPECT_EQ(waits[0].kind, WaitKind::kFile);
  EXPECT_FALSE(waits[1].own.known());
  EXPECT_EQ(CallWaitPlace(waits[1]), "gomp_barrier")
      << "the C library's says less";
}

TEST(WaitFacts, AnInterpreterIsNobodysOwn) {
  const auto waits =
      FactsOfText(kNative,
                  "sample 1s thread=1 stack=11 weight=3s waiting\n"
                  "sample 1s thread=2 stack=13 weight=2s waiting\n")
          .code.waits;
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(CallWaitPlace(waits[0]), "take_gil");
  EXPECT_FALSE(waits[0].own.known());
  EXPECT_EQ(CallWaitPlace(waits[1]), "start_thread") << "there is no other";
}

// A Python, from the outermost on:
//   main > Session.run, of a library > WaitFor, of its C++ > cond_wait > futex
//   main > sleep, of the C library > clock_nanosleep
//   serve, of a library > poll, of an extension > poll, of the C library > poll
constexpr std::string_view kMerged =
    "process 1 pid=10 name=python start=0 end=10s exit=0\n"
    "thread 1 process=1 tid=10 start=0 end=10s\n"
    "module 1 path=/usr/lib/x86_64-linux-gnu/libc.so.6\n"
    "module 2 path=/opt/v/lib/python3.11/site-packages/ort/ort.so\n"
    "module 3 path=/usr/lib/python3.11/lib-dynload/select.so\n"
    "frame 1 function=main file=infer.py line=7\n"
    "frame 2 function=Session.run "
    "file=/opt/v/lib/python3.11/site-packages/ort/session.py line=220\n"
    "frame 3 function=WaitFor module=2\n"
    "frame 4 function=cond_wait module=1\n"
    "frame 5 function=futex file=[kernel]\n"
    "frame 6 function=sleep module=1\n"
    "frame 7 function=clock_nanosleep file=[kernel]\n"
    "frame 8 function=serve file=/usr/lib/python3.11/socketserver.py line=233\n"
    "frame 9 function=poll module=3\n"
    "frame 10 function=poll module=1\n"
    "frame 11 function=poll file=[kernel]\n"
    "stack 1 frame=1\n"
    "stack 2 parent=1 frame=2\n"
    "stack 3 parent=2 frame=3\n"
    "stack 4 parent=3 frame=4\n"
    "stack 5 parent=4 frame=5\n"
    "stack 6 parent=1 frame=6\n"
    "stack 7 parent=6 frame=7\n"
    "stack 8 frame=8\n"
    "stack 9 parent=8 frame=9\n"
    "stack 10 parent=9 frame=10\n"
    "stack 11 parent=10 frame=11\n"
    "stack 12 parent=1 frame=3\n"
    "stack 13 parent=12 frame=4\n"
    "stack 14 parent=13 frame=5\n";

TEST(WaitFacts, OfNativeFunctionsBelowPythonThoseAreShownThatSayMore) {
  const auto waits =
      FactsOfText(kMerged,
                  "sample 1s thread=1 stack=5 weight=4s waiting\n"
                  "sample 1s thread=1 stack=14 weight=3s waiting\n"
                  "sample 1s thread=1 stack=7 weight=2s waiting\n"
                  "sample 1s thread=1 stack=11 weight=1s waiting\n")
          .code.waits;
  ASSERT_EQ(waits.size(), 4u);
  EXPECT_EQ(CallWaitPlace(waits[0]),
            "main (infer.py:7), in Session.run (session.py:220)");
  EXPECT_EQ(CallWaitPlace(waits[1]), "main (infer.py:7), in WaitFor");
  EXPECT_EQ(CallWaitPlace(waits[2]), "main (infer.py:7)");
  EXPECT_EQ(CallWaitPlace(waits[3]), "serve (socketserver.py:233)");
}

}  // namespace
}  // namespace sonde
