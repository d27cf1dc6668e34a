// CHECK states what must hold for the next line to make sense. CHECK stays on
// in release builds. Use Result for what the world can do to us, CHECK for what
// only we can do to ourselves. Never CHECK inside the target process.

#ifndef SONDE_BASE_CHECK_H_
#define SONDE_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define CHECK(cond)                                                          \
  do {                                                                       \
    if (!(cond)) [[unlikely]] {                                              \
      std::fprintf(stderr, "%s:%d: CHECK(%s)\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                          \
    }                                                                        \
  } while (0)

#endif  // SONDE_BASE_CHECK_H_
