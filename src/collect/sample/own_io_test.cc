#include "collect/sample/own_io.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

ProcessIo Read(uint64_t bytes) {
  ProcessIo io;
  io.read_bytes = bytes;
  return io;
}

TEST(OwnIo, WhatAChildToldIsNotItsParentsToo) {
  OwnIo parent, child;
  parent.Update(Read(10));
  child.Update(Read(100));
  parent.ChildEnded(child);
  parent.Update(Read(15));  // it has not waited for it yet
  EXPECT_EQ(parent.own().read_bytes, 10u);
  // 100 of the child, 3 after its last sample, 5 of its own.
  parent.Update(Read(118));
  EXPECT_EQ(parent.own().read_bytes, 18u);
}

TEST(OwnIo, GrandchildrenCountOnce) {
  OwnIo parent, child, grandchild;
  grandchild.Update(Read(1000));
  child.ChildEnded(grandchild);
  child.Update(Read(1100));
  EXPECT_EQ(child.own().read_bytes, 100u);
  parent.ChildEnded(child);
  parent.Update(Read(1110));
  EXPECT_EQ(parent.own().read_bytes, 10u);
}

}  // namespace
}  // namespace sonde
