#include "collect/symbols/demangle.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Demangle, NamesAreAsTheirLanguageWritesThem) {
  EXPECT_EQ(Demangled("_ZN3box5OuterEi"), "box::Outer(int)");
  EXPECT_EQ(Demangled("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(Demangled("main"), "main");
  EXPECT_EQ(Demangled(""), "");
  EXPECT_EQ(Demangled("_Z"), "_Z");
  EXPECT_EQ(Demangled("_ZN3box"), "_ZN3box") << "cut off";
}

TEST(Demangle, RustsHashAndEscapesAreTakenOff) {
  EXPECT_EQ(Demangled("_ZN4core3fmt5write17h0123456789abcdefE"),
            "core::fmt::write");
  EXPECT_EQ(
      Demangled("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops.."
                "drop..Drop$GT$4drop17h0123456789abcdefE"),
      "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
  EXPECT_EQ(Demangled("_ZN1a1h17h0123456789abcdeXE"), "a::h::h0123456789abcdeX")
      << "of C++";
}

}  // namespace
}  // namespace sonde
