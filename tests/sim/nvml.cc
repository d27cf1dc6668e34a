// A simulated NVML: plays a script instead of asking a driver. Built as
// libnvidia-ml.so.1 in build/tests/sim; a test puts that directory into
// LD_LIBRARY_PATH and the script's path into SONDE_SIM_NVML.
//
// A script is words, a line each:
//
// clang-format off
//
//   devices 2
//   start 0.6                          seconds until it is ready
//   again FILE                         nothing below counts unless FILE is
//                                      there, which is made now
//   hidden 0 15                        GPU 0 has no handle, but this code
//   at 0   gpu 0 busy 95 mem_busy 40 used 8000 total 16000 clock 1500
//   at 0   gpu 0 power 250 temp 60 throttle 0
//   at 2.5 gpu 0 busy 4000000000       values stay until the next line
//   at 0   gpu 1 wave 5 95 2           busy: 5 and 95, a period of 2 s
//   at 0   gpu 0 meter FILE            busy: from ns of work, 8 bytes, that
//                                      another program counts up in FILE
//   at 0   gpu 0 user 1234 500         process 1234 holds 500 MB
//   at 3   hang | crash | lost | exit  what the library does from then on
//   at 4   works                       it is as before
//
// clang-format on
//
// Times are seconds since it was loaded; memory is in MB.

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Line {
  double at = 0;
  int gpu = -1;
  std::string word;  // of lines without a gpu
  std::map<std::string, std::vector<double>> values;
  std::string meter;
};

struct Meter {
  uint64_t ns = 0;
  double at = 0;
};

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

std::vector<Line> script;
std::map<int, Meter> meters;
unsigned devices = 0;
double loaded = 0;
double start = 0;
std::map<unsigned, int> hidden;

void Load() {
  loaded = Now();
  const char* const path = getenv("SONDE_SIM_NVML");
  std::ifstream file(path ? path : "");
  std::string text;
  while (std::getline(file, text)) {
    std::istringstream words(text.substr(0, text.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (word == "devices") {
      words >> devices;
      continue;
    }
    if (word == "start") {
      words >> start;
      continue;
    }
    if (word == "again") {
      words >> word;
      if (std::ifstream(word)) continue;
      std::ofstream(word).put('x');
      break;
    }
    if (word == "hidden") {
      unsigned gpu = 0;
      words >> gpu >> hidden[gpu];
      continue;
    }
    Line line;
    words >> line.at >> word;
    if (word == "gpu") {
      words >> line.gpu;
      while (words >> word) {
        if (word == "meter") {
          words >> line.meter;
          continue;
        }
        const int count = word == "wave" ? 3 : word == "user" ? 2 : 1;
        for (int i = 0; i < count; ++i) {
          double value = 0;
          words >> value;
          line.values[word].push_back(value);
        }
      }
    } else {
      line.word = word;
    }
    script.push_back(line);
  }
}

// What the library does now: 0 answers, else the code to return.
int Mood() {
  std::string word;
  for (const Line& line : script)
    if (!line.word.empty() && Now() - loaded >= line.at) word = line.word;
  if (word == "hang")
    for (;;) pause();
  if (word == "crash") abort();
  if (word == "exit") _exit(3);
  return word == "lost" ? 15 : 0;
}

const std::vector<double>* Find(void* handle, const char* key) {
  const int gpu = static_cast<int>(reinterpret_cast<intptr_t>(handle)) - 1;
  const std::vector<double>* found = nullptr;
  for (const Line& line : script)
    if (line.gpu == gpu && Now() - loaded >= line.at)
      if (const auto at = line.values.find(key); at != line.values.end())
        found = &at->second;
  return found;
}

int Get(void* handle, const char* key, unsigned* value, double scale = 1) {
  if (const int code = Mood()) return code;
  const std::vector<double>* const found = Find(handle, key);
  if (!found) return 3;  // not supported
  *value = static_cast<unsigned>((*found)[0] * scale);
  return 0;
}

double Metered(int gpu, const std::string& path) {
  uint64_t ns = 0;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, &ns, sizeof(ns)) != sizeof(ns)) ns = 0;
  if (fd >= 0) close(fd);
  Meter& meter = meters[gpu];
  const double now = Now();
  const double share =
      meter.at > 0 && now > meter.at
          ? static_cast<double>(ns - meter.ns) / 1e9 / (now - meter.at)
          : 0;
  meter = {ns, now};
  return share > 1 ? 100 : share * 100;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  Load();
  usleep(static_cast<useconds_t>(start * 1e6));
  return Mood();
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = devices;
  return Mood();
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  if (const auto at = hidden.find(index); at != hidden.end()) return at->second;
  *handle = reinterpret_cast<void*>(intptr_t{index} + 1);
  return index < devices ? 0 : 2;
}

int nvmlDeviceGetName(void* handle, char* name, unsigned length) {
  snprintf(name, length, "Simulated GPU %d",
           static_cast<int>(reinterpret_cast<intptr_t>(handle)) - 1);
  return 0;
}

int nvmlDeviceGetUtilizationRates(void* handle, unsigned* use) {
  if (const int code = Mood()) return code;
  use[1] = 0;
  if (const auto* busy = Find(handle, "mem_busy"))
    use[1] = static_cast<unsigned>((*busy)[0]);
  const int gpu = static_cast<int>(reinterpret_cast<intptr_t>(handle)) - 1;
  for (const Line& line : script)
    if (line.gpu == gpu && !line.meter.empty()) {
      use[0] = static_cast<unsigned>(Metered(gpu, line.meter));
      return 0;
    }
  if (const auto* wave = Find(handle, "wave")) {
    const double period = (*wave)[2];
    const double phase = (Now() - loaded) / period;
    const bool high =
        phase - static_cast<double>(static_cast<long>(phase)) >= 0.5;
    use[0] = static_cast<unsigned>((*wave)[high ? 1 : 0]);
    return 0;
  }
  const auto* const busy = Find(handle, "busy");
  if (!busy) return 3;
  use[0] = static_cast<unsigned>((*busy)[0]);
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* memory) {
  if (const int code = Mood()) return code;
  const auto* const total = Find(handle, "total");
  const auto* const used = Find(handle, "used");
  if (!total || !used) return 3;
  memory[0] = static_cast<unsigned long long>((*total)[0]) << 20;
  memory[2] = static_cast<unsigned long long>((*used)[0]) << 20;
  memory[1] = memory[0] - memory[2];
  return 0;
}

int nvmlDeviceGetClockInfo(void* handle, unsigned which, unsigned* mhz) {
  return Get(handle, which == 1 ? "clock" : "mem_clock", mhz);
}

int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
  return Get(handle, "power", milliwatts, 1000);
}

int nvmlDeviceGetTemperature(void* handle, unsigned, unsigned* celsius) {
  return Get(handle, "temp", celsius);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle,
                                              unsigned long long* reasons) {
  unsigned value = 0;
  const int code = Get(handle, "throttle", &value);
  *reasons = value;
  return code;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count,
                                            void* infos) {
  struct Info {
    unsigned pid;
    unsigned long long bytes;
    unsigned instance, compute;
  };
  if (const int code = Mood()) return code;
  const auto* const user = Find(handle, "user");
  if (!user || *count < 1) {
    *count = 0;
    return 0;
  }
  *count = 1;
  auto* const info = static_cast<Info*>(infos);
  *info = {static_cast<unsigned>((*user)[0]),
           static_cast<unsigned long long>((*user)[1]) << 20, 0, 0};
  return 0;
}
}
