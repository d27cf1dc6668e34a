#include "export/chrome_events.h"

#include <fmt/format.h>

namespace sonde {
namespace {

std::string Time(uint64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

}  // namespace

std::string ChromeEvents::SlicePrefix(uint32_t pid, uint32_t tid) {
  return fmt::format(",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"name\":\"", pid,
                     tid);
}

// The first event of every export is metadata, so slices can always begin with
// the comma.
void ChromeEvents::Put(const std::string& event) {
  out_.Text(first_ ? "\n" : ",\n");
  first_ = false;
  out_.Text(event);
}

void ChromeEvents::Instant(uint32_t pid, uint32_t tid, char scope,
                           std::string_view name, std::string_view category,
                           int64_t time_ns, std::string_view args) {
  Put(
      fmt::format("{{\"ph\":\"i\",\"s\":\"{}\",\"pid\":{},\"tid\":{},\"name\":"
                  "\"{}\",\"cat\":\"{}\",\"ts\":{}{}{}}}",
                  scope, pid, tid, name, category, Time(Relative(time_ns)),
                  args.empty() ? "" : ",\"args\":", args));
}

void ChromeEvents::Counter(uint32_t pid, std::string_view name,
                           std::string_view key, int64_t time_ns,
                           std::string_view number) {
  Put(
      fmt::format("{{\"ph\":\"C\",\"pid\":{},\"name\":\"{}\",\"ts\":{},"
                  "\"args\":{{\"{}\":{}}}}}",
                  pid, name, Time(Relative(time_ns)), key, number));
}

void ChromeEvents::Flow(char phase, uint32_t id, uint32_t pid, uint32_t tid,
                        int64_t time_ns) {
  Put(
      fmt::format("{{\"ph\":\"{}\",\"id\":{},\"pid\":{},\"tid\":{},\"name\":"
                  "\"flow\",\"cat\":\"flow\",\"ts\":{}{}}}",
                  phase, id, pid, tid, Time(Relative(time_ns)),
                  phase == 'f' ? ",\"bp\":\"e\"" : ""));
}

void ChromeEvents::Meta(std::string_view what, uint32_t pid, uint32_t tid,
                        std::string_view key, std::string_view value) {
  Put(fmt::format(
      "{{\"ph\":\"M\",\"pid\":{},{}\"name\":\"{}\",\"args\":{{\"{}"
      "\":{}}}}}",
      pid, tid == 0 ? "" : fmt::format("\"tid\":{},", tid), what, key, value));
}

}  // namespace sonde
