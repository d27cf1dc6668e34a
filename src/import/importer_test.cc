#include "import/importer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "trace/writer.h"

namespace sonde {
namespace {

std::string Written(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ImporterTest, AFormIsToldByItsContentNotByItsName) {
  const auto ours = std::make_shared<std::string>();
  ASSERT_TRUE(TraceWriter::CreateInMemory({}, ours)->Close().ok());
  EXPECT_TRUE(OpenTrace(Written("ours.txt", *ours)).ok());
  EXPECT_TRUE(OpenTrace(Written("text.sonde", "sonde-text 0\n")).ok());
}

TEST(ImporterTest, WhatNobodyKnowsIsNoTrace) {
  EXPECT_EQ(OpenTrace(Written("x.sonde", "PK\3\4")).error().kind,
            Error::Kind::kCorrupt);
  EXPECT_EQ(OpenTrace(Written("x.sonde", "")).error().kind,
            Error::Kind::kCorrupt);
  EXPECT_EQ(OpenTrace(testing::TempDir() + "/nowhere").error().kind,
            Error::Kind::kNotFound);
}

TEST(ImporterTest, NoTwoImportersKnowTheSameBytes) {
  const std::string_view heads[] = {"sonde-text 0\n", "", "{", "\x1f\x8b",
                                    "\x89SONDE\r\n"};
  for (const std::string_view head : heads) {
    int known = 0;
    for (const Importer& importer : Importers())
      known += importer.matches(head);
    EXPECT_LE(known, head == "sonde-text 0\n" ? 1 : 0) << head;
  }
}

}  // namespace
}  // namespace sonde
