#include <gtest/gtest.h>

#include <map>

#include "collect/proc/cgroup_files.h"
#include "collect/proc/machine_files.h"
#include "collect/proc/process_files.h"

namespace sonde {
namespace {

constexpr char kFields[] =
    " S 1 77 77 0 -1 4194560 1301 22 5 6 210 34 7 8 20 0 3 0 4711 9000000 512 "
    "18446744073709551615 1 2 140722 0 0 0 0 4096 81920 0 0 0 17 1 0 0 0 0 0 "
    "1 2 3 4 5 6 7 0\n";

TEST(ProcessStat, AnOrdinaryLineIsRead) {
  const std::string text = std::string("77 (bash)") + kFields;
  const auto stat = ParseProcessStat(text);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->comm, "bash");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->ppid, 1);
  EXPECT_EQ(stat->minor_faults, 1301u);
  EXPECT_EQ(stat->major_faults, 5u);
  EXPECT_EQ(stat->user_ticks, 210u);
  EXPECT_EQ(stat->system_ticks, 34u);
  EXPECT_EQ(stat->threads, 3u);
  EXPECT_EQ(stat->start_ticks, 4711u);
  EXPECT_EQ(stat->resident_pages, 512u);
  EXPECT_EQ(stat->start_stack, 140722u);
  EXPECT_FALSE(stat->wait_status);
}

TEST(ProcessStat, ANameThatLooksLikeFieldsIsOnlyAName) {
  for (const std::string name : {") R 1 1 (", "a b", "((", "))",
                                 "\n) Z 0 0 0 0 0 4", "", "77 (x) S 1"}) {
    const std::string text = "77 (" + name + ")" + kFields;
    const auto stat = ParseProcessStat(text);
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->comm, name);
    EXPECT_EQ(stat->state, 'S');
    EXPECT_EQ(stat->start_ticks, 4711u);
  }
}

TEST(ProcessStat, AZombieTellsHowItEnded) {
  std::string text = std::string("77 (sh)") + kFields;
  text.replace(text.find(" S "), 3, " Z ");
  text.replace(text.rfind(" 0\n"), 3, " 768\n");
  const auto stat = ParseProcessStat(text);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->wait_status, 768);
}

TEST(ProcessStat, WhatIsCutShortIsNothing) {
  const std::string whole = std::string("77 (bash)") + kFields;
  for (size_t i = 0; i < 60; ++i)
    EXPECT_FALSE(ParseProcessStat(whole.substr(0, i))) << i;
  EXPECT_FALSE(ParseProcessStat(")("));
  EXPECT_FALSE(ParseProcessStat("1 (a) S 99999999999999999999 1"));
}

TEST(ProcessIo, EveryCounterIsInItsPlace) {
  const auto io = ParseProcessIo(
      "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n"
      "write_bytes: 6\ncancelled_write_bytes: 7\n");
  ASSERT_TRUE(io);
  EXPECT_EQ(io->read_chars, 1u);
  EXPECT_EQ(io->write_chars, 2u);
  EXPECT_EQ(io->read_calls, 3u);
  EXPECT_EQ(io->write_calls, 4u);
  EXPECT_EQ(io->read_bytes, 5u);
  EXPECT_EQ(io->write_bytes, 6u);
  EXPECT_FALSE(ParseProcessIo("rchar: 1\nwchar: 2\n"));
}

TEST(Switches, ANameCannotForgeThem) {
  const auto switches = ParseSwitches(
      "Name:\tvoluntary_ctxt_switches:\t9\nvoluntary_ctxt_switches:\t5\n"
      "State:\tS\nvoluntary_ctxt_switches:\t11\n"
      "nonvoluntary_ctxt_switches:\t22\n");
  ASSERT_TRUE(switches);
  EXPECT_EQ(switches->voluntary, 11u);
  EXPECT_EQ(switches->involuntary, 22u);
  EXPECT_FALSE(ParseSwitches("voluntary_ctxt_switches:\t11\n"));
}

TEST(RssFile, IsRead) {
  EXPECT_EQ(ParseRssFileBytes("VmRSS:\t  9 kB\nRssAnon:\t  4 kB\n"
                              "RssFile:\t    5 kB\nRssShmem:\t 0 kB\n"),
            5120u);
  EXPECT_FALSE(ParseRssFileBytes("Name:\t\\nRssFile: 5 kB\nState:\tS\n"));
  EXPECT_FALSE(ParseRssFileBytes("\nRssFile:"));
  EXPECT_FALSE(ParseRssFileBytes("\nRssFile: 99999999999999999 kB"));
}

TEST(SmallFiles, AreRead) {
  const auto sched = ParseSchedStat("123 456 7\n");
  ASSERT_TRUE(sched);
  EXPECT_EQ(sched->run_ns, 123u);
  EXPECT_EQ(sched->wait_ns, 456u);
  EXPECT_FALSE(ParseSchedStat("123"));
  EXPECT_EQ(ParsePssBytes("Rss:  8 kB\nPss:   4 kB\nPss_Dirty: 1 kB\n"), 4096u);
  EXPECT_FALSE(ParsePssBytes("Pss: 99999999999999999999 kB\n"));
  EXPECT_EQ(ParseChildren("12 34 \n"), (std::vector<pid_t>{12, 34}));
  EXPECT_TRUE(ParseChildren("x").empty());
  EXPECT_EQ(ParseLoad1("1.25 2 3"), 1.25);
  EXPECT_FALSE(ParseLoad1("inf"));
  EXPECT_EQ(ParseCpuList("0-2,5\n"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_TRUE(ParseCpuList("3-1").empty());
  EXPECT_TRUE(ParseCpuList("0-99999999").empty());
}

TEST(Syscall, OnlyANumberWithItsArgumentsIsOne) {
  EXPECT_EQ(ParseSyscall("202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffd 0x7f48\n"), 202);
  EXPECT_EQ(ParseSyscall("0 0x3 0x7f 0x80 0x0 0x0 0x0 0x7ffd 0x7f48\n"), 0);
  EXPECT_EQ(ParseSyscall("-1 0x7ffd13 0x7f4812\n"), -1) << "a page fault";
  for (const char* const none : {"running\n", "", "7", "-1", "-2 0x1 0x2\n",
                                 "99999999 0x1 0x2\n", "7 (x) S 1"})
    EXPECT_EQ(ParseSyscall(none), std::nullopt) << none;
}

TEST(Syscall, BehindItsArgumentsAreTheStackAndThePlace) {
  EXPECT_EQ(ParseBlockedAt("202 0x7f 0x80 0x0 0x1 0x2 0x3 0x7ffd10 0x7f48\n"),
            (BlockedAt{202, 0x7ffd10, 0x7f48}));
  EXPECT_EQ(ParseBlockedAt("-1 0x7ffd13 0x7f4812\n"),
            (BlockedAt{-1, 0x7ffd13, 0x7f4812}));
  for (const char* const none :
       {"running\n", "", "202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffd10\n",
        "202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffd10 0x7f", "-1 0x1\n",
        "-1 0x 0x2\n", "-1 0x1 0x12345678901234567\n", "-1 1 2\n",
        "-1 0x1 0x2 0x3\n"})
    EXPECT_EQ(ParseBlockedAt(none), std::nullopt) << none;
}

TEST(ShortCommand, TellsTheScriptButNeitherCodeNorArguments) {
  const auto of = [](std::vector<std::string> argv) {
    return ShortCommand(argv);
  };
  EXPECT_EQ(of({"ls", "-l", "/secret"}), "ls");
  EXPECT_EQ(of({"/usr/bin/python3.11", "-u", "train.py", "--key", "s3cret"}),
            "/usr/bin/python3.11 train.py");
  EXPECT_EQ(of({"python", "-m", "torch.run", "x"}), "python -m torch.run");
  EXPECT_EQ(of({"python", "-Im", "http.server"}), "python -m http.server");
  EXPECT_EQ(of({"python", "-c", "print(1)"}), "python -c");
  EXPECT_EQ(of({"python", "-W", "ignore", "-Xdev", "a.py"}), "python a.py");
  EXPECT_EQ(of({"bash", "-lc", "echo s3cret"}), "bash -c");
  EXPECT_EQ(of({"bash", "-o", "pipefail", "x.sh"}), "bash x.sh");
  EXPECT_EQ(of({"node", "--inspect", "app.js", "t"}), "node app.js");
  EXPECT_EQ(of({"java", "-Xmx1g", "-cp", "a.jar", "Main", "t"}), "java Main");
  EXPECT_EQ(of({"java", "-jar", "a.jar", "t"}), "java -jar a.jar");
  EXPECT_EQ(of({"shuf", "-e", "x"}), "shuf");
  EXPECT_EQ(of({}), "");
  EXPECT_EQ(ParseCmdline(std::string_view("a\0\0b\0", 5)),
            (std::vector<std::string>{"a", "", "b"}));
}

TEST(MachineStat, CoresAreReadAndTheSumIsNot) {
  MachineStat stat;
  ParseMachineStat(
      "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"
      "cpu3 1 2 3 4 5 6 7\ncpux 1 2 3\nintr 5 6\nctxt 42\n"
      "procs_running 2\nprocs_blocked 1\n",
      stat);
  ASSERT_EQ(stat.cores.size(), 2u);
  EXPECT_EQ(stat.cores[0].number, 0u);
  EXPECT_EQ(stat.cores[0].irq, 13u);
  EXPECT_EQ(stat.cores[0].steal, 8u);
  EXPECT_EQ(stat.cores[1].number, 3u);
  EXPECT_EQ(stat.context_switches, 42u);
  EXPECT_EQ(stat.running, 2u);
  EXPECT_EQ(stat.blocked, 1u);
  ParseMachineStat("", stat);
  EXPECT_TRUE(stat.cores.empty());
  EXPECT_FALSE(stat.running);
}

TEST(MemInfo, MissingLinesAreAbsentNotZero) {
  const MemInfo memory = ParseMemInfo(
      "MemTotal:  100 kB\nMemFree: 50 kB\nSwapCached: 1 kB\nCached: 7 kB\n");
  EXPECT_EQ(memory.total, 102400u);
  EXPECT_EQ(memory.cached, 7168u);
  EXPECT_FALSE(memory.available);
  EXPECT_FALSE(memory.swap_total);
}

TEST(DiskStats, PartitionsAndStackedDisksAreLeftOut) {
  std::string text;
  for (const char* const name :
       {"loop0", "ram1", "sda", "sda1", "nvme0n1", "nvme0n1p2", "xvda1", "dm-0",
        "md127", "mmcblk0", "mmcblk0p1"})
    text += std::string("   8  0 ") + name + " 10 0 20 0 30 0 40 0 0 50 0\n";
  text += "8 0 bad 1 2\n";
  std::vector<DiskStat> disks;
  ParseDiskStats(text, disks);
  std::vector<std::string> names;
  for (const DiskStat& disk : disks) names.emplace_back(disk.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"sda", "nvme0n1", "xvda1", "mmcblk0"}));
  EXPECT_EQ(disks[0].reads, 10u);
  EXPECT_EQ(disks[0].read_bytes, 20u * 512);
  EXPECT_EQ(disks[0].writes, 30u);
  EXPECT_EQ(disks[0].write_bytes, 40u * 512);
  EXPECT_EQ(disks[0].busy_ns, 50'000'000u);
}

TEST(NetDev, LoopbackIsLeftOut) {
  std::vector<NetStat> nets;
  ParseNetDev(
      "Inter-|   Receive  |  Transmit\n face |bytes packets\n"
      "    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
      "  eth0:380 8 0 0 0 0 0 0 425 5 0 0 0 0 0 0\n",
      nets);
  ASSERT_EQ(nets.size(), 1u);
  EXPECT_EQ(nets[0].name, "eth0");
  EXPECT_EQ(nets[0].rx_bytes, 380u);
  EXPECT_EQ(nets[0].rx_packets, 8u);
  EXPECT_EQ(nets[0].tx_bytes, 425u);
  EXPECT_EQ(nets[0].tx_packets, 5u);
}

TEST(OomKills, AreRead) {
  EXPECT_EQ(ParseOomKills("nr_free_pages 7\noom_kill 2\nx 3\n"), 2u);
  EXPECT_EQ(ParseOomKills("nr_free_pages 7\n"), std::nullopt);
  EXPECT_EQ(ParseOomKills("a 1\noom_kill x\n"), std::nullopt);
  EXPECT_EQ(ParseOomKills(""), std::nullopt);
}

TEST(Shm, IsMemoryIfNothingOnTheWayIsServedByAProgram) {
  const std::string root = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";
  const std::string dev = "24 27 0:6 / /dev rw,relatime - devtmpfs d rw\n";
  const std::string shm = "25 24 0:23 / /dev/shm rw shared:2 - tmpfs t rw\n";
  EXPECT_TRUE(ShmIsMemory(root + dev + shm));
  EXPECT_FALSE(ShmIsMemory(root + dev));
  EXPECT_FALSE(ShmIsMemory(""));
  EXPECT_FALSE(ShmIsMemory(root + dev + shm +
                           "31 25 0:9 / /dev/shm rw - ext4 /dev/vdb rw\n"))
      << "covered";
  EXPECT_FALSE(ShmIsMemory(root + shm + "31 27 0:9 / /dev rw - fuse.x x rw\n"));
  EXPECT_TRUE(
      ShmIsMemory(root + shm + "31 27 0:9 / /dev/shmx rw - fuse.x x rw\n"));
}

TEST(Pressure, TotalsAreInNanoseconds) {
  const Pressure some = ParsePressure(
      "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
  EXPECT_EQ(some.some_ns, 12000u);
  EXPECT_EQ(some.full_ns, 3000u);
  EXPECT_FALSE(ParsePressure("some total=99999999999999999999").some_ns);
}

struct Limits {
  std::map<std::string, std::string> files;
  CgroupLimits Find(std::string_view cgroup, std::string_view mounts) {
    return FindCgroupLimits(
        cgroup, mounts,
        [this](const std::string& path) -> std::optional<std::string> {
          const auto at = files.find(path);
          if (at == files.end()) return std::nullopt;
          return at->second;
        });
  }
};

TEST(CgroupLimits, TheTightestOnTheWayUpHolds) {
  Limits world;
  world.files = {{"/sys/fs/cgroup/a/b/memory.max", "max\n"},
                 {"/sys/fs/cgroup/a/memory.max", "1000000\n"},
                 {"/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"},
                 {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}};
  const CgroupLimits limits =
      world.Find("0::/a/b\n",
                 "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(limits.path, "/a/b");
  EXPECT_EQ(limits.memory_bytes, 1000000u);
  EXPECT_EQ(limits.cpu_cores, 1.5);
}

TEST(CgroupLimits, Version1OfAContainerIsFoundAtTheMountPoint) {
  Limits world;
  world.files = {{"/c g/mem/memory.limit_in_bytes", "512\n"},
                 {"/c g/cpu/cpu.cfs_quota_us", "-1\n"},
                 {"/c g/cpu/cpu.cfs_period_us", "100000\n"}};
  const CgroupLimits limits = world.Find(
      "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n0::/\n",
      "31 1 0:27 /docker/x /c\\040g/mem rw - cgroup cgroup rw,memory\n"
      "32 1 0:28 /docker/x /c\\040g/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  EXPECT_EQ(limits.path, "/docker/x");
  EXPECT_EQ(limits.memory_bytes, 512u);
  EXPECT_FALSE(limits.cpu_cores);
}

TEST(OwnPid, TheInnermostNamespaceIsTheProcessesOwn) {
  EXPECT_EQ(ParseOwnPid("Name:\tx\nNSpid:\t4711\t17\t1\nNSpgid:\t9\n"), 1);
  EXPECT_EQ(ParseOwnPid("Name:\tx\nNSpid:\t4711\n"), 4711);
  EXPECT_FALSE(ParseOwnPid("Name:\tx\nPid:\t4711\n"));
  EXPECT_FALSE(ParseOwnPid("Name:\tx\nNSpid:\t\n"));
  EXPECT_FALSE(ParseOwnPid("Name:\tx\nNSpid:\t17 x\n"));
  EXPECT_FALSE(ParseOwnPid("Name:\tx\nNSpid:\t99999999999\n"));
}

TEST(Maps, EachLineThatIsOneIsRead) {
  const auto maps = ParseMaps(
      "00400000-0041f000 r--p 00000000 fe:00 1234                       "
      "/opt/my python\n"
      "no mapping at all\n"
      "7f00-6f00 rw-p 00000000 00:00 0\n"
      "7ffe1000-7ffe2000 rw-p 0001f000 00:00 0 \n"
      "7ffe3000-7ffe4000 r-xp 00000000 00:00 0    [vdso]");
  ASSERT_EQ(maps.size(), 3u);
  EXPECT_EQ(maps[0].begin, 0x400000u);
  EXPECT_EQ(maps[0].end, 0x41f000u);
  EXPECT_EQ(maps[0].path, "/opt/my python");
  EXPECT_FALSE(maps[0].writable);
  EXPECT_FALSE(maps[0].executable);
  EXPECT_EQ(maps[0].inode, 1234u);
  EXPECT_EQ(maps[1].offset, 0x1f000u);
  EXPECT_TRUE(maps[1].writable);
  EXPECT_EQ(maps[1].path, "");
  EXPECT_EQ(maps[2].path, "[vdso]");
  EXPECT_TRUE(maps[2].executable);
  EXPECT_EQ(maps[2].inode, 0u);
}

}  // namespace
}  // namespace sonde
