#include "collect/proc/cgroup_files.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

constexpr char kVersion2[] =
    "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr char kVersion1[] =
    "31 1 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
constexpr char kHybrid[] =
    "31 1 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "33 1 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

using Folders = std::vector<std::string>;

TEST(PlaceOf, Version2HasAllControllersInOneTree) {
  for (const char* const controller : {"cpu", "memory", "io"}) {
    const auto place = PlaceOf("0::/a/b\n", kVersion2, controller);
    ASSERT_TRUE(place);
    EXPECT_TRUE(place->version2);
    EXPECT_EQ(place->path, "/a/b");
    EXPECT_EQ(place->folders, (Folders{"/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a",
                                       "/sys/fs/cgroup"}));
  }
}

TEST(PlaceOf, Version1HasATreeForEach) {
  const std::string cgroup = "4:memory:/m\n3:cpu,cpuacct:/c/d\n";
  const auto memory = PlaceOf(cgroup, kVersion1, "memory");
  const auto usage = PlaceOf(cgroup, kVersion1, "cpuacct");
  ASSERT_TRUE(memory && usage);
  EXPECT_FALSE(memory->version2);
  EXPECT_EQ(memory->folders.front(), "/sys/fs/cgroup/memory/m");
  EXPECT_EQ(usage->folders.front(), "/sys/fs/cgroup/cpu/c/d");
  EXPECT_FALSE(PlaceOf(cgroup, kVersion1, "blkio"));
}

TEST(PlaceOf, InAHybridAControllerOfVersion1IsThere) {
  for (const std::string& cgroup : {std::string("4:memory:/m\n0::/u\n"),
                                    std::string("0::/u\n4:memory:/m\n")}) {
    const auto memory = PlaceOf(cgroup, kHybrid, "memory");
    const auto io = PlaceOf(cgroup, kHybrid, "io");
    ASSERT_TRUE(memory && io);
    EXPECT_EQ(memory->folders.front(), "/sys/fs/cgroup/memory/m");
    EXPECT_EQ(io->folders.front(), "/sys/fs/cgroup/unified/u");
  }
}

TEST(FolderOf, OfAContainerIsNotThatOfAPartOfIt) {
  const auto exists = [](const std::string&) { return true; };
  EXPECT_EQ(FolderOf("0::/x.slice/libpod-1.scope/container\n", kVersion2,
                     "libpod-1.scope", exists),
            "/sys/fs/cgroup/x.slice/libpod-1.scope");
  EXPECT_FALSE(FolderOf("0::/x.slice\n", kVersion2, "libpod-1.scope", exists));
  const auto only_memory = [](const std::string& folder) {
    return folder.starts_with("/sys/fs/cgroup/memory/");
  };
  EXPECT_EQ(FolderOf("3:cpu,cpuacct:/d/1\n4:memory:/d/1\n0::/d/1\n", kHybrid,
                     "1", only_memory),
            "/sys/fs/cgroup/memory/d/1");
}

TEST(FindNamedCgroup, AFolderAndANameMeanTheSame) {
  const auto exists = [](const std::string& folder) {
    return folder == "/sys/fs/cgroup/a/b";
  };
  for (const char* const name :
       {"/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a/b/", "/a/b", "a/b"}) {
    const auto found = FindNamedCgroup(name, kVersion2, exists);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->folder, "/sys/fs/cgroup/a/b");
    EXPECT_EQ(found->cgroup, "0::/a/b\n");
  }
  EXPECT_FALSE(FindNamedCgroup("/a", kVersion2, exists));
  EXPECT_FALSE(FindNamedCgroup("/etc", kVersion2, exists));
}

TEST(FindNamedCgroup, InVersion1AllTreesAreLookedAt) {
  const auto found = FindNamedCgroup(
      "/sys/fs/cgroup/memory/m", kHybrid, [](const std::string& folder) {
        return folder == "/sys/fs/cgroup/memory/m";
      });
  ASSERT_TRUE(found);
  EXPECT_EQ(PlaceOf(found->cgroup, kHybrid, "cpuacct")->folders.front(),
            "/sys/fs/cgroup/cpu/m");
  EXPECT_EQ(PlaceOf(found->cgroup, kHybrid, "memory")->folders.front(),
            "/sys/fs/cgroup/memory/m");
}

TEST(FindNamedCgroup, InAContainerItsOwnRootIsLeftOut) {
  const auto found = FindNamedCgroup(
      "/docker/x/y",
      "30 1 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
      [](const std::string& folder) { return folder == "/sys/fs/cgroup/y"; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cgroup, "0::/docker/x/y\n");
}

}  // namespace
}  // namespace sonde
