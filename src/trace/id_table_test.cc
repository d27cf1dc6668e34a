#include "trace/id_table.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(IdTable, FindsWhatWasPutAndNothingElse) {
  IdTable<int> table;
  for (const uint32_t id : {1u, 2u, 5u, 1u << 26, UINT32_MAX})
    table.Put(id, static_cast<int>(id % 1000));
  table.Put(0, 7);
  EXPECT_EQ(table.size(), 5u);
  EXPECT_EQ(*table.Find(5), 5);
  EXPECT_EQ(*table.Find(1u << 26), (1 << 26) % 1000);
  for (const uint32_t id : {0u, 3u, 6u, (1u << 26) + 1})
    EXPECT_EQ(table.Find(id), nullptr) << id;
  std::vector<uint32_t> ids;
  for (uint32_t id = table.From(1); id != 0; id = table.From(id + 1))
    ids.push_back(id);
  EXPECT_EQ(ids, (std::vector<uint32_t>{1, 2, 5, 1u << 26, UINT32_MAX}));
}

TEST(IdTable, AFarIdCostsARowHoweverOneGetsThere) {
  IdTable<int> table;
  for (uint32_t id = 1; id < 1u << 31; id *= 2) table.Put(id, 1);
  EXPECT_LT(table.near_ids(), 10'000u);
  EXPECT_EQ(*table.Find(1u << 30), 1);
}

TEST(IdTable, WhatCameBeforeItsNeighboursIsFoundAmongThem) {
  IdTable<int> table;
  table.Put(3000, 3);
  for (uint32_t id = 1; id < 3000; ++id) table.Put(id, 1);
  table.Put(3001, 2);
  EXPECT_GT(table.near_ids(), 3001u);
  EXPECT_EQ(*table.Find(3000), 3);
  EXPECT_EQ(table.size(), 3001u);
}

}  // namespace
}  // namespace sonde
