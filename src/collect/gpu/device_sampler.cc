#include "collect/gpu/device_sampler.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "trace/sources.h"

namespace sonde {
namespace {

constexpr int64_t kPatienceNs = 2 * kNsPerSec;
// The first answer of a driver that was asleep takes a while.
constexpr int64_t kFirstPatienceNs = 10 * kNsPerSec;
// A reading is of now for so long, and for two more.
constexpr int64_t kFreshNs = kNsPerSec;
// Makers that come later in the list wait so long for their numbers.
constexpr int64_t kNumberWaitNs = kNsPerSec;
// One that has said nothing at all for so long is told, be it given up or not.
constexpr int64_t kToldSilentNs = kNsPerSec;
constexpr int kMostStarts = 4;
constexpr int64_t kBelievedNs = 5 * kNsPerSec;
// For libraries that do not die at once.
constexpr int64_t kLongestEndNs = 500 * kNsPerMs;

// One series of each device, and the values that can be.
struct DeviceValue {
  SeriesName name;
  double DeviceReading::*field;
  double least, most;
};
constexpr std::array<DeviceValue, DeviceSampler::kValues> kTable = {{
    {"gpu_busy_pct", &DeviceReading::busy_pct, 0, 100},
    {"gpu_mem_busy_pct", &DeviceReading::mem_busy_pct, 0, 100},
    {"gpu_mem_used_bytes", &DeviceReading::mem_used_bytes, 0, 1e15},
    {"gpu_mem_total_bytes", &DeviceReading::mem_total_bytes, 1, 1e15},
    {"gpu_clock_mhz", &DeviceReading::clock_mhz, 0, 1e5},
    {"gpu_mem_clock_mhz", &DeviceReading::mem_clock_mhz, 0, 1e5},
    {"gpu_power_w", &DeviceReading::power_w, 0, 1e4},
    {"gpu_temp_c", &DeviceReading::temp_c, -60, 200},
    {"gpu_throttle", &DeviceReading::throttle, 0, 7},
    {"gpu_users", nullptr, 1, 1e6},  // counted here
}};
constexpr size_t kUsers = DeviceSampler::kValues - 1;

// Whether it is this process's number in one of the namespaces it is seen in,
// from the NSpid line.
bool HasPid(std::string_view status, pid_t pid) {
  const size_t at = status.find("\nNSpid:");
  if (at == std::string_view::npos) return false;
  const size_t end = status.find('\n', at + 1);
  const std::string line =
      fmt::format("{}\t", status.substr(at + 7, end - at - 7));
  return line.find(fmt::format("\t{}\t", pid)) != std::string::npos;
}

}  // namespace

std::string DeviceRoot() {
  const char* const root = ::secure_getenv("SONDE_DEVICE_ROOT");
  return root ? root : "";
}

DeviceSampler::DeviceSampler(TraceWriter& out, ProcessTree& tree,
                             double rate_hz,
                             const std::vector<DeviceMaker>& makers)
    : out_(out),
      group_(out.AddGroup()),
      tree_(tree),
      rate_hz_(rate_hz),
      root_(DeviceRoot()) {
  refused_.reason = "device-refused";
  const int64_t now_ns = NowNs();
  for (const DeviceMaker& one : makers) {
    if (!one.present(root_)) continue;
    Maker maker;
    maker.maker = &one;
    maker.child = DeviceChild::Start(one, root_, rate_hz_);
    maker.over = !maker.child;
    if (maker.over) maker.why = "no process could be started for it";
    maker.started_ns = maker.heard_ns = now_ns;
    makers_.push_back(std::move(maker));
  }
}

DeviceSampler::~DeviceSampler() = default;

void DeviceSampler::Tick(int64_t now_ns) {
  bool may_number = true;
  // Stopped or throttled, we have heard nobody, and a library may have been
  // stopped with us.
  const int64_t late_ns =
      tick_ns_ == 0 ? 0
                    : now_ns - tick_ns_ - static_cast<int64_t>(1e9 / rate_hz_);
  if (late_ns > kFreshNs)
    for (Maker& maker : makers_) maker.away_ns += late_ns;
  tick_ns_ = now_ns;
  for (Maker& maker : makers_) {
    if (!maker.over) Look(maker, now_ns, may_number);
    maker.silence.Last(out_, now_ns);
    may_number &= !Starts(maker, now_ns);
  }
  if (tick_open_) out_.EndTick();
  tick_open_ = false;
}

std::optional<double> DeviceSampler::BusyShare() const {
  std::optional<double> out;
  for (const Maker& maker : makers_)
    for (const Device& device : maker.devices)
      if (device.busy_share && device.busy_share > out.value_or(-1) &&
          tick_ns_ - device.time_ns <= kFreshNs + TwoTurnsNs(maker))
        out = device.busy_share;
  return out;
}

// In which there are two readings of its devices.
int64_t DeviceSampler::TwoTurnsNs(const Maker& maker) const {
  return 2 * std::max(static_cast<int64_t>(1e9 / rate_hz_),
                      maker.child ? maker.child->interval_ns() : 0);
}

// The tick begins with the first value that is to be written.
void DeviceSampler::Open(int64_t now_ns) {
  if (!tick_open_) out_.BeginTick(group_, now_ns);
  tick_open_ = true;
}

// Whether it is to be waited for, so that its devices come first.
bool DeviceSampler::Starts(const Maker& maker, int64_t now_ns) {
  return !maker.over && maker.starts == 1 &&
         now_ns - maker.started_ns < kNumberWaitNs &&
         (maker.devices.empty() || maker.devices[0].time_ns == 0);
}

void DeviceSampler::Look(Maker& maker, int64_t now_ns, bool may_number) {
  switch (maker.child->Look()) {
    case DeviceChild::State::kNone:
      maker.why = maker.child->why();
      maker.over = true;
      return;
    case DeviceChild::State::kEnded:
      Restart(maker, now_ns);
      return;
    case DeviceChild::State::kStarting:
      if (now_ns - maker.started_ns - maker.away_ns > kFirstPatienceNs)
        Restart(maker, now_ns);
      return;
    case DeviceChild::State::kRuns:
      TakeReadings(maker, now_ns, may_number);
      return;
  }
}

void DeviceSampler::TakeReadings(Maker& maker, int64_t now_ns,
                                 bool may_number) {
  const size_t count = maker.child->devices();
  if (maker.devices.size() < count) maker.devices.resize(count);
  bool heard = false;
  DeviceReading reading;
  for (size_t i = 0; i < count; ++i) {
    Device& device = maker.devices[i];
    int64_t time_ns = 0;
    // They are asked in order, so the next ones have not been asked either.
    const auto answer = maker.child->Read(i, reading, time_ns);
    if (answer == DeviceChild::Answer::kNotYet) break;
    if (answer == DeviceChild::Answer::kTorn) continue;
    if (time_ns == device.told_ns) continue;
    heard = true;
    if (!device.index && !may_number) continue;
    device.told_ns = time_ns;
    // The page is not believed: its times lie in this recording.
    device.time_ns =
        time_ns > maker.started_ns && time_ns <= NowNs() ? time_ns : now_ns;
    maker.silence.End(out_, device.time_ns);
    if (answer == DeviceChild::Answer::kNothing) {
      Silent(maker, device, maker.child->info(i));
      continue;
    }
    device.silence.End(out_, device.time_ns);
    device.answered_ns = device.time_ns;
    Write(device, maker.child->info(i), reading);
  }
  const int64_t patience =
      maker.devices.empty() || maker.devices[0].time_ns == 0
          ? kFirstPatienceNs
          : kPatienceNs + TwoTurnsNs(maker);
  if (heard) {
    maker.heard_ns = now_ns;
    maker.away_ns = 0;
  } else if (now_ns - maker.heard_ns - maker.away_ns > patience) {
    Restart(maker, now_ns);
  }
}

void DeviceSampler::Silent(Maker& maker, Device& device,
                           const DeviceInfo& info) {
  device.silence.Add(
      out_,
      fmt::format("times that {} did not answer", Printable(info.name, 60)),
      device.answered_ns == kNoTime ? maker.started_ns : device.answered_ns,
      device.time_ns);
  Gone(device, device.time_ns);
}

void DeviceSampler::Write(Device& device, const DeviceInfo& info,
                          const DeviceReading& reading) {
  std::array<double, kValues> values;
  values.fill(kNotRead);
  for (size_t i = 0; i < kUsers; ++i) {
    const DeviceValue& one = kTable[i];
    double value = reading.*one.field;
    if (!std::isnan(value) && !(value >= one.least && value <= one.most)) {
      Refuse(one.name, info, device.time_ns);
      value = kNotRead;
    }
    values[i] = value;
  }
  if (reading.mem_used_bytes > reading.mem_total_bytes) {
    Refuse("gpu_mem_used_bytes", info, device.time_ns);
    values[2] = kNotRead;
  }
  const std::map<uint32_t, double> users =
      UsersOf(reading, info, device.time_ns);
  if (!device.index) {
    if (users.empty() &&
        std::all_of(values.begin(), values.end(),
                    [](double value) { return std::isnan(value); }))
      return;
    ::sonde::Device row;
    row.source = out_.Intern(source::kDevices);
    row.vendor = out_.Intern(info.vendor);
    row.name = out_.Intern(info.name);
    row.index = *(device.index = next_index_++);
    device.row = out_.AddRow(row);
  }
  // Only now: strangers alone give no device a number.
  if (!reading.users.empty())
    values[kUsers] = static_cast<double>(reading.users.size());
  device.busy_share.reset();
  if (!std::isnan(values[0])) device.busy_share = values[0] / 100;
  for (size_t i = 0; i < kValues; ++i) {
    uint32_t& series = device.series[i];
    if (std::isnan(values[i])) {
      if (series == 0) continue;
      Open(device.time_ns);
      out_.Gone(series);
      continue;
    }
    if (series == 0) {
      Series row =
          SampledSeries(kTable[i].name, source::kDevices, group_, out_);
      row.scope = Series::Scope::kDevice;
      row.scope_id = *device.index;
      row.label = out_.Intern(info.name.empty() ? info.vendor : info.name);
      row.device = device.row;
      series = out_.AddSeries(row);
    }
    Open(device.time_ns);
    out_.SetDouble(series, values[i]);
  }
  WriteUsers(device, users);
}

// What processes of the tree have on it. Others do not concern us.
std::map<uint32_t, double> DeviceSampler::UsersOf(const DeviceReading& reading,
                                                  const DeviceInfo& info,
                                                  int64_t at_ns) {
  std::map<uint32_t, double> out;
  for (const DeviceReading::User& user : reading.users) {
    const uint32_t process = ProcessOf(user.pid);
    if (process == 0 || std::isnan(user.mem_bytes)) continue;
    if (user.mem_bytes >= 0 && user.mem_bytes < 1e15)
      out[process] += user.mem_bytes;
    else
      Refuse("gpu_mem_used_bytes", info, at_ns);
  }
  return out;
}

void DeviceSampler::WriteUsers(Device& device,
                               const std::map<uint32_t, double>& now) {
  GoneUsers(device, device.time_ns, now);
  for (const auto& [process, bytes] : now) {
    uint32_t& series = device.users[process];
    if (series == 0) {
      Series row =
          SampledSeries("gpu_mem_used_bytes", source::kDevices, group_, out_);
      row.scope = Series::Scope::kProcess;
      row.scope_id = process;
      row.device = device.row;
      series = out_.AddSeries(row);
    }
    Open(device.time_ns);
    out_.SetDouble(series, bytes);
  }
}

// A driver tells pids as we see them, or as a namespace inside of ours does.
// A number that we see somebody under is theirs; else it may be what one of our
// processes is called inside, if it is only one.
uint32_t DeviceSampler::ProcessOf(pid_t pid) {
  if (const auto task = tree_.FindPid(pid); task && task->alive)
    return task->number;
  const int64_t now_ns = NowNs();
  auto& [number, until_ns] = users_[pid];
  if (now_ns < until_ns) return number;
  until_ns = now_ns + kBelievedNs;
  number = 0;
  if (::access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0) return 0;
  for (const auto& [live_number, live] : tree_.live()) {
    const auto status = ReadFile(fmt::format("/proc/{}/status", live.pid));
    if (!status.ok() || !HasPid(status.value(), pid)) continue;
    if (number != 0) return number = 0;
    number = live_number;
  }
  return number;
}

void DeviceSampler::Refuse(SeriesName what, const DeviceInfo& info,
                           int64_t at_ns) {
  ++refused_.count;
  refused_.detail = fmt::format(
      "readings of accelerators that cannot be; the last one was {} of {}",
      what->name, Printable(info.name, 60));
  if (refused_.from_ns == kNoTime) refused_.from_ns = at_ns;
  refused_.to_ns = at_ns;
  out_.PutLoss(refused_handle_, refused_);
}

void DeviceSampler::Restart(Maker& maker, int64_t now_ns) {
  End(maker, now_ns);
  maker.child->Stop();
  // A killed one may take a while to die; then its time is known at the end.
  ended_.push_back(std::move(maker.child));
  if (maker.starts < kMostStarts)
    maker.child = DeviceChild::Start(*maker.maker, root_, rate_hz_);
  if (!maker.child) {
    maker.over = true;
    maker.why =
        maker.starts < kMostStarts
            ? "its library hung or died, and no process could be started for it"
            : fmt::format("its library hung or died {} times", maker.starts);
    return;
  }
  ++maker.starts;
  maker.started_ns = maker.heard_ns = now_ns;
  maker.away_ns = 0;
}

// Nothing is known of its devices from here on.
void DeviceSampler::End(Maker& maker, int64_t now_ns) {
  for (Device& device : maker.devices) {
    Gone(device, now_ns);
    device.silence.End(out_, now_ns);
    device.told_ns = device.time_ns = 0;
    device.answered_ns = kNoTime;
  }
  maker.silence.Add(
      out_,
      fmt::format("times that the {} library hung or died; its devices are not "
                  "known then",
                  maker.maker->vendor),
      maker.heard_ns, now_ns);
}

void DeviceSampler::Gone(Device& device, int64_t now_ns) {
  device.busy_share.reset();
  for (const uint32_t series : device.series)
    if (series != 0) {
      Open(now_ns);
      out_.Gone(series);
    }
  GoneUsers(device, now_ns, {});
}

// All but those that use it `still`. One that lives may come back, under the
// same series.
void DeviceSampler::GoneUsers(Device& device, int64_t now_ns,
                              const std::map<uint32_t, double>& still) {
  std::erase_if(device.users, [&](const auto& one) {
    if (still.contains(one.first)) return false;
    Open(now_ns);
    out_.Gone(one.second);
    return !tree_.live().contains(one.first);
  });
}

int64_t DeviceSampler::EndHelpers() {
  for (Maker& maker : makers_) {
    if (!maker.child) continue;
    ended_.push_back(std::move(maker.child));
    maker.over = true;
  }
  // What one has cost is known when it is gone: all are killed, then waited for
  // together.
  for (const auto& child : ended_) child->Stop(0);
  const int64_t until_ns = NowNs() + kLongestEndNs;
  int64_t sum = 0;
  for (const auto& child : ended_) {
    child->Stop(std::max<int64_t>(until_ns - NowNs(), 0));
    sum += child->cpu_ns();
  }
  return sum;
}

// In a second or more. One whose devices have nothing to tell answers.
bool DeviceSampler::NeverAnswered(const Maker& maker) const {
  return (maker.starts > 1 || tick_ns_ - maker.started_ns >= kToldSilentNs) &&
         std::none_of(maker.devices.begin(), maker.devices.end(),
                      [](const Device& device) {
                        return device.index || device.told_ns != 0;
                      });
}

std::vector<DeviceSampler::Missing> DeviceSampler::missing() const {
  std::vector<Missing> out;
  for (const Maker& maker : makers_) {
    std::string why;
    if (maker.over)
      why = maker.why;
    else if (NeverAnswered(maker))
      why = "its library has not answered";
    if (!why.empty()) out.push_back({maker.maker->vendor, why});
  }
  return out;
}

}  // namespace sonde
