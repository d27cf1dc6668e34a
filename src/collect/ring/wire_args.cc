#include "collect/ring/wire_args.h"

#include <sonde/abi.h>

#include <bit>
#include <cstdio>
#include <string>

namespace sonde {
namespace {

constexpr size_t kMostArgs = 64;

}  // namespace

// Words that belong to the kind itself, before its arguments.
size_t OwnWords(uint8_t kind) {
  switch (kind) {
    case SONDE_KIND_COMPLETE:
    case SONDE_KIND_CLOCK_PAIR:
      return 2;
    case SONDE_KIND_COUNTER:
    case SONDE_KIND_COUNTER_ADD:
    case SONDE_KIND_COUNTER_DOUBLE:
    case SONDE_KIND_COUNTER_ADD_DBL:
    case SONDE_KIND_FLOW_BEGIN:
    case SONDE_KIND_FLOW_STEP:
    case SONDE_KIND_FLOW_END:
    case SONDE_KIND_RANGE_BEGIN:
    case SONDE_KIND_RANGE_END:
    case SONDE_KIND_RANGE_INSTANT:
      return 1;
    case SONDE_KIND_LOST:
    case SONDE_KIND_THREAD:
      return 3;
    default:
      return 0;
  }
}

void WireExtra::Clear() {
  args.clear();
  category = track = 0;
  has_time = on_queue = global = false;
  flow_in = flow_out = 0;
}

uint32_t WireExtra::Text(std::string_view text, TraceWriter& out) {
  const uint32_t id = out.InternText(text);
  if (id != 0 || text.empty()) return id;
  ++texts_left_out;
  return out.Intern("(one of too many different texts)");
}

bool WireExtra::Parse(std::span<const uint64_t> words, WireNames& names,
                      TraceWriter& out) {
  Clear();
  for (size_t at = 0; at < words.size();) {
    const uint64_t word = words[at++];
    const uint32_t key = static_cast<uint32_t>(word);
    const uint8_t type = static_cast<uint8_t>(word >> 32);
    const size_t count = static_cast<uint8_t>(word >> 40);
    const size_t bytes = static_cast<uint16_t>(word >> 48);
    if (count > words.size() - at || bytes > count * 8) return false;
    const std::span<const uint64_t> value = words.subspan(at, count);
    at += count;
    const uint64_t first = value.empty() ? 0 : value[0];
    Arg arg;
    arg.key = names.Find(key).name;
    switch (type) {
      case SONDE_ARG_INT:
      case SONDE_ARG_BOOL:
        arg.int_value = static_cast<int64_t>(first);
        break;
      case SONDE_ARG_UINT:
        arg.int_value = static_cast<int64_t>(first);
        if (first <= INT64_MAX) break;
        arg.type = Arg::Type::kDouble;  // the trace's integers have a sign
        arg.double_value = static_cast<double>(first);
        break;
      case SONDE_ARG_DOUBLE:
        arg.type = Arg::Type::kDouble;
        arg.double_value = std::bit_cast<double>(first);
        break;
      case SONDE_ARG_TEXT:
      case SONDE_ARG_CUT_TEXT: {
        std::string text(reinterpret_cast<const char*>(value.data()), bytes);
        if (type == SONDE_ARG_CUT_TEXT) text += " ...";
        arg.type = Arg::Type::kString;
        arg.string_value = Text(text, out);
        break;
      }
      case SONDE_ARG_BYTES:
      case SONDE_ARG_CUT_BYTES: {
        static constexpr char kHex[] = "0123456789abcdef";
        std::string text;
        const auto* from = reinterpret_cast<const unsigned char*>(value.data());
        for (size_t i = 0; i < bytes; ++i) {
          text += kHex[from[i] >> 4];
          text += kHex[from[i] & 15];
        }
        if (type == SONDE_ARG_CUT_BYTES) text += " ...";
        arg.type = Arg::Type::kString;
        arg.string_value = Text(text, out);
        break;
      }
      case SONDE_ARG_NAME:
        arg.type = Arg::Type::kString;
        arg.string_value = names.Find(static_cast<uint32_t>(first)).name;
        break;
      case SONDE_ARG_POINTER: {
        char text[24];
        std::snprintf(text, sizeof(text), "0x%llx",
                      static_cast<unsigned long long>(first));
        arg.type = Arg::Type::kString;
        arg.string_value = Text(text, out);
        break;
      }
      case SONDE_ARG_CATEGORY:
        category = names.Find(key).name;
        continue;
      case SONDE_ARG_COLOR:
        arg.key = out.Intern("color");
        arg.int_value = key;
        break;
      case SONDE_ARG_TRACK:
        track = key;
        continue;
      case SONDE_ARG_TIME:
        time = first;
        has_time = true;
        continue;
      case SONDE_ARG_FLOW:
        flow_out = first;
        continue;
      case SONDE_ARG_FLOW_IN:
        flow_in = first;
        continue;
      case SONDE_ARG_PARENT:
        arg.key = out.Intern("parent");
        arg.int_value = static_cast<int64_t>(first);
        break;
      case SONDE_ARG_GLOBAL:
        global = true;
        continue;
      default:
        continue;  // of a newer libsonde.so
    }
    if (args.size() < kMostArgs) args.push_back(arg);
  }
  return true;
}

}  // namespace sonde
