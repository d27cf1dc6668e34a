// A target that says everything it can, a hundred times a second, from two
// threads: talk SECONDS. Prints how often.

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sonde/sonde.hpp>
#include <thread>

namespace {

uint64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(t.tv_nsec);
}

// A device that counts microseconds from a beginning of its own.
uint64_t DeviceNow() { return NowNs() / 1000 + 123'456'789; }

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  sonde_process_name("chatty");
  const uint32_t clock = sonde_clock("device", 1'000'000);
  const uint32_t card = sonde_track("card", 0, 0, 0);
  const uint32_t track = sonde_track_of("device queue", clock, card, 1,
                                        SONDE_TRACK_QUEUE, "driver");
  // Others speak for the program, too.
  const uint32_t phase = sonde_label_of("phase", nullptr, 0, 0, "nvtx");
  const uint32_t call =
      sonde_label_of("usleep", nullptr, 0, SONDE_CLASS_CALL, "calls");
  static sonde::Name kStep("step", "ml"), kRequest("request"), kQueue("queue");
  sonde_clock_pair(clock, DeviceNow());
  long made = 0;
  std::thread talker([&] {
    sonde_thread_name("talker");
    const uint64_t end = NowNs() + static_cast<uint64_t>(seconds * 1e9);
    while (NowNs() < end) {
      const uint64_t flow = sonde_new_id();
      {
        const sonde::Scope scope(kStep, {{"number", made}, {"what", "talk"}});
        sonde::Range request(kRequest);
        sonde_flow_begin(kRequest.id(), flow);
        sonde_counter(kQueue.id(), made % 7);
        sonde_begin(phase);
        sonde_begin(call);
        usleep(2000);
        sonde_end();
        sonde_end();
        std::thread([r = std::move(request)] {
          SONDE_INSTANT("taken over");
        }).join();
      }
      {
        SONDE_SCOPE("answer");
        sonde_flow_end(kRequest.id(), flow);
      }
      const uint64_t now = DeviceNow();
      const sonde_arg on = sonde_arg_track(track);
      sonde_complete(sonde_name("on the device"), now - 1000, now, &on, 1);
      ++made;
      usleep(5000);
    }
    SONDE_BEGIN("never ends");
  });
  talker.join();
  sonde_clock_pair(clock, DeviceNow());
  std::printf("produced %ld\n", made);
  return 0;
}
