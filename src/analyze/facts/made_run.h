// Recordings made up for tests: who used how much of a core at which moment is
// known, because it is written here.

#ifndef SONDE_ANALYZE_FACTS_MADE_RUN_H_
#define SONDE_ANALYZE_FACTS_MADE_RUN_H_

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyze/facts/facts.h"
#include "analyze/series/run_series.h"
#include "base/check.h"
#include "base/time.h"
#include "trace/sources.h"
#include "trace/writer.h"

namespace sonde {

// One run, from which a trace in memory is made. Defaults: ten seconds on two
// cores, sampled ten times a second.
struct MadeRun {
  using Load = std::function<double(double second)>;  // cores at a moment

  // A thread of a process. Threads of one process number make one process.
  struct Worker {
    uint32_t process = 1;
    std::string name = "work";
    Load cores;
    Load wait = {};         // ready but not running
    double from_s = 0;      // life of the process
    double to_s = -1;       // -1: to the end of the run
    int64_t exact_ns = -1;  // Process::cpu_ns
    bool sampled = true;
  };

  double seconds = 10;
  double rate_hz = 10;
  double jitter_s = 0;  // every second tick comes this much late
  int cores = 2;
  std::vector<Worker> workers;
  Load others = [](double) { return 0.0; };
  Load steal = [](double) { return 0.0; };
  bool machine_series = true, thread_series = true, process_series = true;
  double machine_from_s = 0, machine_to_s = 1e9;  // when cores are sampled
  std::map<std::string, std::string> meta;  // added to, or with "" taken away

  static Load Always(double cores) {
    return [cores](double) { return cores; };
  }

  std::shared_ptr<const Store> Trace() const;
  Facts Make() const { return FactsOf(Trace()); }

  static constexpr int64_t kBeginNs = 1'000 * kNsPerSec;
};

inline std::shared_ptr<const Store> MadeRun::Trace() const {
  const auto bytes = std::make_shared<std::string>();
  const auto w = TraceWriter::CreateInMemory(FileHeader{}, bytes);
  const auto at_ns = [](double s) {
    return kBeginNs + static_cast<int64_t>(s * 1e9);
  };
  std::map<std::string, std::string> all = {
      {"started_ns", std::to_string(kBeginNs)},
      {"ended_ns", std::to_string(at_ns(seconds))},
      {"cores", std::to_string(cores)},
      {"allowed_cores", std::to_string(cores)}};
  for (const auto& [key, value] : meta) all[key] = value;
  for (const auto& [key, value] : all)
    if (!value.empty()) w->PutMeta(key, value);

  const auto series = [&](uint32_t group, Series::Scope scope, uint32_t id,
                          const char* name, const std::string& label) {
    Series s;
    s.group = group;
    s.scope = scope;
    s.scope_id = id;
    s.name = w->Intern(name);
    s.label = w->Intern(label);
    s.unit = w->Intern("ns");
    s.kind = Series::Kind::kTotal;
    s.source = w->Intern(scope == Series::Scope::kMachine ? source::kMachine
                                                          : source::kTasks);
    return w->AddSeries(s);
  };

  struct Counted {
    const Worker* worker;
    uint32_t cpu = 0, wait = 0;  // series
    double cpu_ns = 0, wait_ns = 0;
  };
  std::vector<Counted> threads;
  std::map<uint32_t, std::pair<uint32_t, double>> processes;  // series, total
  for (const Worker& worker : workers) {
    Process p;
    p.number = worker.process;
    p.parent = worker.process == 1 ? 0 : 1;
    p.pid = static_cast<int32_t>(1000 + worker.process);
    p.start_ns = at_ns(worker.from_s);
    p.end_ns = at_ns(worker.to_s < 0 ? seconds : worker.to_s);
    p.name = w->Intern(worker.name);
    p.exit = Process::Exit::kExited;
    p.cpu_ns = worker.exact_ns;
    w->PutProcess(p);
    Counted c{&worker};
    if (!worker.sampled) continue;
    if (process_series && !processes.contains(worker.process))
      processes[worker.process] = {
          series(2, Series::Scope::kProcess, worker.process, "cpu_ns", ""), 0};
    if (thread_series) {
      Thread t;
      t.number = static_cast<uint32_t>(threads.size() + 1);
      t.process = worker.process;
      t.tid = static_cast<int32_t>(2000 + t.number);
      t.start_ns = p.start_ns;
      t.end_ns = p.end_ns;
      t.name = p.name;
      w->PutThread(t);
      c.cpu = series(2, Series::Scope::kThread, t.number, "cpu_ns", "");
      c.wait = series(2, Series::Scope::kThread, t.number, "wait_ns", "");
    }
    threads.push_back(c);
  }
  struct Core {
    uint32_t user, idle, steal;
    double user_ns = 5e12, idle_ns = 7e12, steal_ns = 1e12;  // since boot
  };
  std::vector<Core> core_list;
  for (int i = 0; machine_series && i < cores; ++i) {
    const std::string label = std::to_string(i);
    const auto make = [&](const char* name) {
      return series(1, Series::Scope::kMachine, 0, name, label);
    };
    core_list.push_back(
        {make("cpu_user_ns"), make("cpu_idle_ns"), make("cpu_steal_ns")});
  }

  const bool tree_series =
      !threads.empty() && (process_series || thread_series);
  const double step_s = 1 / rate_hz;
  const int ticks = static_cast<int>(seconds * rate_hz + 0.5);
  double before_s = 0;
  for (int tick = 0; tick <= ticks; ++tick) {
    const double now_s = tick * step_s + (tick % 2 == 1 ? jitter_s : 0);
    const double elapsed_ns = (now_s - before_s) * 1e9;
    const double middle_s = (now_s + before_s) / 2;
    double busy = others(middle_s);
    if (tree_series) w->BeginTick(2, at_ns(now_s));
    for (Counted& c : threads) {
      const double to_s = c.worker->to_s < 0 ? seconds : c.worker->to_s;
      const bool alive = middle_s >= c.worker->from_s && middle_s < to_s;
      if (alive && tick > 0) {
        busy += c.worker->cores(middle_s);
        c.cpu_ns += c.worker->cores(middle_s) * elapsed_ns;
        if (c.worker->wait) c.wait_ns += c.worker->wait(middle_s) * elapsed_ns;
        if (process_series)
          processes[c.worker->process].second +=
              c.worker->cores(middle_s) * elapsed_ns;
      }
      if (now_s < c.worker->from_s || !thread_series) continue;
      w->Set(c.cpu, static_cast<int64_t>(c.cpu_ns));
      if (c.worker->wait) w->Set(c.wait, static_cast<int64_t>(c.wait_ns));
    }
    for (const auto& [number, process] : processes) {
      bool begun = false;
      for (const Counted& c : threads)
        begun |= c.worker->process == number && now_s >= c.worker->from_s;
      if (begun) w->Set(process.first, static_cast<int64_t>(process.second));
    }
    if (tree_series) w->EndTick();
    const double taken = steal(middle_s);
    for (Core& core : core_list) {
      if (tick > 0) {
        core.user_ns += busy / cores * elapsed_ns;
        core.steal_ns += taken / cores * elapsed_ns;
        core.idle_ns += std::max(0.0, 1 - (busy + taken) / cores) * elapsed_ns;
      }
    }
    before_s = now_s;
    if (core_list.empty() || now_s < machine_from_s || now_s > machine_to_s)
      continue;
    w->BeginTick(1, at_ns(now_s));
    for (const Core& core : core_list) {
      w->Set(core.user, static_cast<int64_t>(core.user_ns));
      w->Set(core.idle, static_cast<int64_t>(core.idle_ns));
      w->Set(core.steal, static_cast<int64_t>(core.steal_ns));
    }
    w->EndTick();
  }
  CHECK(w->Close().ok());
  auto store = Store::OfBytes(bytes, "made");
  CHECK(store.ok());
  return store.Take();
}

// Gives facts a series (run_series.h has the names), or another in its place.
inline void PutSeries(Facts& facts, const std::string& name,
                      const MadeRun::Load& value) {
  auto all = std::make_shared<RunSeries>(*facts.series);
  std::erase_if(all->all,
                [&](const RegularSeries& s) { return s.name == name; });
  RegularSeries one;
  one.name = name;
  one.grid = all->grid;
  for (size_t i = 0; i < all->grid.size(); ++i) {
    one.values.push_back(
        value(all->grid.SecondsOf(static_cast<double>(i) + 0.5)));
    one.known.push_back(1);
  }
  all->all.push_back(std::move(one));
  facts.series = std::move(all);
}

}  // namespace sonde

#endif  // SONDE_ANALYZE_FACTS_MADE_RUN_H_
