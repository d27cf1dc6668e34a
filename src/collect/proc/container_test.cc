#include "collect/proc/container.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(ContainerId, IsFoundAsEachEngineWritesIt) {
  const std::string id(64, 'a');
  EXPECT_EQ(ContainerId(id), id);
  EXPECT_EQ(ContainerId("docker-" + id + ".scope"), id);
  EXPECT_EQ(ContainerId("libpod-" + id + ".scope"), id);
  EXPECT_EQ(ContainerId("libpod-" + id), id);
  EXPECT_EQ(ContainerId("cri-containerd-" + id + ".scope"), id);
}

TEST(ContainerId, OtherPartsHaveNone) {
  const std::string id(64, 'a');
  for (const std::string& part :
       {std::string(), std::string("user.slice"), id.substr(1), id + "a",
        "libpod-conmon-" + id + ".scope", "crio-conmon-" + id + ".scope",
        "libpod-" + std::string(64, 'g'), id + ".slice"})
    EXPECT_EQ(ContainerId(part), "") << part;
}

TEST(FindContainer, OneThatIsNotThereIsSaid) {
  const auto none = FindContainer("sonde-nobody-has-this-name");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().what,
            "there is no container sonde-nobody-has-this-name");
}

}  // namespace
}  // namespace sonde
