#include "collect/session/identity.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/check.h"
#include "base/fd.h"
#include "trace/all_rows.h"

namespace sonde {
namespace {

std::string MetaOf(const std::string& key) {
  const auto bytes = std::make_shared<std::string>();
  const auto out = TraceWriter::CreateInMemory(FileHeader{}, bytes);
  WriteIdentity(*out, 0, "", false);
  CHECK(out->Close().ok());
  auto reader = TraceReader::OpenBytes(bytes, "made");
  CHECK(reader.ok());
  const TraceReader trace = reader.Take();
  return AllRows(trace).meta[key];
}

TEST(IdentityTest, SaysWhetherAutogroupsMakeNiceVoid) {
  auto text = ReadFile("/proc/sys/kernel/sched_autogroup_enabled");
  const std::string meta = MetaOf("sched_autogroup");
  if (text.ok())
    EXPECT_EQ(meta + "\n", text.Take());
  else
    EXPECT_EQ(meta, "");
}

}  // namespace
}  // namespace sonde
