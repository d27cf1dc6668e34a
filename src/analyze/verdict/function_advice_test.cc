#include "analyze/verdict/function_advice.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

std::string Advice(const char* name, const char* file, const char* module,
                   const char* language) {
  FunctionFacts f;
  f.name = name;
  f.file = file;
  f.module = module;
  f.language = language;
  return AdviceOnFunction(f);
}

TEST(FunctionAdvice, FitsWhatTheFunctionDoes) {
  const auto has = [](const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
  };
  EXPECT_TRUE(has(Advice("JSONDecoder.raw_decode",
                         "/usr/lib/python3.11/json/decoder.py", "", "python"),
                  "orjson"));
  EXPECT_TRUE(
      has(Advice("deepcopy", "/usr/lib/python3.11/copy.py", "", "python"),
          "copies objects"));
  EXPECT_TRUE(has(Advice("_int_malloc", "malloc.c", "/lib/libc.so.6", "native"),
                  "allocates"));
  EXPECT_TRUE(has(Advice("inflate_fast", "", "/lib/libz.so.1", "native"),
                  "compressed"));
  EXPECT_TRUE(has(Advice("step", "/home/u/train.py", "", "python"), "numpy"));
  EXPECT_TRUE(has(Advice("step", "a.cc", "/home/u/a", "native"), "-O2"));
}

TEST(FunctionAdvice, AFolderOfTheUserSaysNothing) {
  EXPECT_EQ(Advice("step", "/home/u/json/train.py", "", "python"),
            Advice("step", "/home/u/train.py", "", "python"));
}

TEST(FunctionAdvice, AWordInsideOfANameIsNotEnough) {
  EXPECT_EQ(Advice("my_malloc_free_list", "a.cc", "/home/u/a", "native"),
            Advice("step", "a.cc", "/home/u/a", "native"));
}

}  // namespace
}  // namespace sonde
