#include "collect/sample/own_io.h"

#include <algorithm>

namespace sonde {
namespace {

constexpr uint64_t ProcessIo::*kFields[] = {
    &ProcessIo::read_chars,  &ProcessIo::write_chars, &ProcessIo::read_calls,
    &ProcessIo::write_calls, &ProcessIo::read_bytes,  &ProcessIo::write_bytes};

}  // namespace

void OwnIo::Update(const ProcessIo& told) {
  told_ = told;
  for (const auto field : kFields)
    if (told.*field > inherited_.*field)
      own_.*field = std::max(own_.*field, told.*field - inherited_.*field);
}

void OwnIo::ChildEnded(const OwnIo& child) {
  for (const auto field : kFields) inherited_.*field += child.told_.*field;
}

}  // namespace sonde
