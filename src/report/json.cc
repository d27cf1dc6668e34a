#include "report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/functions.h"

namespace sonde {
namespace {

// Keys in the order the page lists them, for people who read it.
using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

template <typename T>
Json Maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Numbers of processes and threads: 0 is none.
Json Known(uint32_t number) { return number == 0 ? Json() : Json(number); }
// Bytes and counts are whole numbers.
Json Whole(const MaybeNumber& value) {
  return value ? Json(static_cast<int64_t>(std::llround(*value))) : Json();
}
Json Time(int64_t ns) { return ns == kNoTime ? Json() : Json(ns); }
Json Text(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

template <typename Rows, typename Convert>
Json ListOf(const Rows& rows, Convert convert) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(convert(row));
  return out;
}

Json ExitJson(const Process& row) {
  switch (row.exit) {
    case Process::Exit::kExited:
      return {{"kind", "exit"}, {"code", row.exit_code}};
    case Process::Exit::kSignaled:
      return {{"kind", "signal"}, {"code", row.exit_code}};
    case Process::Exit::kRunning:
      return {{"kind", "running"}, {"code", nullptr}};
    case Process::Exit::kUnknown:
      break;
  }
  return {{"kind", "unknown"}, {"code", nullptr}};
}

// "exit 3" or "signal 9", as the recorder wrote it.
Json ExitJson(const std::string& text) {
  for (const std::string kind : {"exit", "signal"}) {
    if (!text.starts_with(kind + " ")) continue;
    char* end = nullptr;
    const long code = std::strtol(text.c_str() + kind.size() + 1, &end, 10);
    if (*end == '\0') return {{"kind", kind}, {"code", code}};
  }
  return nullptr;
}

Json WhereOf(const Where& where) {
  if (where.process == 0) return nullptr;
  return {{"process", where.process},
          {"pid", where.pid},
          {"process_name", where.process_name},
          {"cmdline", Text(where.cmdline)},
          {"thread", Known(where.thread)},
          {"tid", where.thread == 0 ? Json() : Json(where.tid)},
          {"thread_name", Text(where.thread_name)},
          {"function", Text(where.function)},
          {"file", Text(where.file)},
          {"line", Known(where.line)}};
}

Json FindingOf(const Finding& f) {
  const auto evidence = [](const Evidence& e) -> Json {
    return {{"text", e.text},
            {"from_ns", Time(e.from_ns)},
            {"to_ns", Time(e.to_ns)}};
  };
  const auto number = [](const Number& n) -> Json {
    return {{"name", n.name}, {"value", n.value}, {"unit", NameOf(n.unit)}};
  };
  Json gain;
  if (f.gain)
    gain = {{"share", f.gain->share},
            {"from_share", f.gain->from_share},
            {"estimated", true},
            {"how", f.gain->how}};
  return {{"rule", f.rule},
          {"severity", NameOf(f.severity)},
          {"confidence", f.confidence},
          {"summary", f.summary},
          {"evidence", ListOf(f.evidence, evidence)},
          {"numbers", ListOf(f.numbers, number)},
          {"advice", f.advice},
          {"gain", std::move(gain)},
          {"from_ns", f.from_ns},
          {"to_ns", f.to_ns},
          {"where", WhereOf(f.where)}};
}

Json ThreadOf(const ThreadFacts& t) {
  return {{"number", t.row.number},
          {"tid", t.row.tid},
          {"name", t.name},
          {"start_ns", Time(t.row.start_ns)},
          {"end_ns", Time(t.row.end_ns)},
          {"cpu_ns", Maybe(t.cpu_ns)},
          {"wait_ns", Maybe(t.wait_ns)},
          {"cpu_share", Maybe(t.cpu_share)},
          {"cores_used", Maybe(t.cores_used)},
          {"voluntary_switches", Whole(t.voluntary_switches)},
          {"involuntary_switches", Whole(t.involuntary_switches)}};
}

Json ProcessOf(const ProcessFacts& p) {
  return {{"number", p.row.number},
          {"pid", p.row.pid},
          {"parent", Known(p.row.parent)},
          {"name", p.name},
          {"cmdline", Text(p.cmdline)},
          {"start_ns", Time(p.row.start_ns)},
          {"end_ns", Time(p.row.end_ns)},
          {"exit", ExitJson(p.row)},
          {"execs", p.row.execs},
          {"sampled", p.sampled},
          {"cpu_ns", Maybe(p.cpu_ns)},
          {"cpu_exact", p.cpu_exact},
          {"cpu_user_ns", Maybe(p.user_ns)},
          {"cpu_system_ns", Maybe(p.system_ns)},
          {"cpu_share", Maybe(p.cpu_share)},
          {"cores_used", Maybe(p.cores_used)},
          {"rss_peak_bytes", Whole(p.rss_peak_bytes)},
          {"pss_peak_bytes", Whole(p.pss_peak_bytes)},
          {"threads_peak", Whole(p.threads_peak)},
          {"minor_faults", Whole(p.minor_faults)},
          {"major_faults", Whole(p.major_faults)},
          {"voluntary_switches", Whole(p.voluntary_switches)},
          {"involuntary_switches", Whole(p.involuntary_switches)},
          {"read_bytes", Whole(p.io.read_bytes)},
          {"write_bytes", Whole(p.io.write_bytes)},
          {"read_chars", Whole(p.io.read_chars)},
          {"write_chars", Whole(p.io.write_chars)},
          {"read_calls", Whole(p.io.read_calls)},
          {"write_calls", Whole(p.io.write_calls)},
          {"threads", ListOf(p.threads, ThreadOf)}};
}

Json MachineOf(const MachineFacts& m) {
  return {{"cores", m.cores == 0 ? Json() : Json(m.cores)},
          {"covered_ns", Maybe(m.covered_ns)},
          {"busy_cores", Maybe(m.busy_cores)},
          {"other_cores", Maybe(m.other_cores)},
          {"iowait_cores", Maybe(m.iowait_cores)},
          {"steal_cores", Maybe(m.steal_cores)},
          {"mem_total_bytes", Whole(m.mem_total_bytes)},
          {"mem_peak_bytes", Whole(m.mem_peak_bytes)},
          {"swap_total_bytes", Whole(m.swap_total_bytes)},
          {"swap_peak_bytes", Whole(m.swap_peak_bytes)},
          {"disk_read_bytes", Whole(m.disk_read_bytes)},
          {"disk_write_bytes", Whole(m.disk_write_bytes)},
          {"net_rx_bytes", Whole(m.net_rx_bytes)},
          {"net_tx_bytes", Whole(m.net_tx_bytes)},
          {"psi_cpu_some", Maybe(m.psi_cpu_some)},
          {"psi_io_some", Maybe(m.psi_io_some)},
          {"psi_memory_some", Maybe(m.psi_memory_some)},
          {"load1_peak", Maybe(m.load1_peak)}};
}

Json CgroupOf(const CgroupFacts& c) {
  return {{"path", c.path},
          {"cpu_ns", Maybe(c.cpu_ns)},
          {"cpu_limit_cores", Maybe(c.cpu_limit_cores)},
          {"periods", Whole(c.periods)},
          {"throttled_periods", Whole(c.throttled_periods)},
          {"throttled_ns", Maybe(c.throttled_ns)},
          {"memory_peak_bytes", Whole(c.memory_peak_bytes)},
          {"memory_limit_bytes", Whole(c.memory_limit_bytes)},
          {"cache_peak_bytes", Whole(c.cache_peak_bytes)},
          {"limit_hits", Whole(c.limit_hits)},
          {"oom_kills", Whole(c.oom_kills)},
          {"read_bytes", Whole(c.read_bytes)},
          {"write_bytes", Whole(c.write_bytes)},
          {"psi_cpu_some", Maybe(c.psi_cpu_some)},
          {"psi_io_some", Maybe(c.psi_io_some)},
          {"psi_memory_some", Maybe(c.psi_memory_some)}};
}

Json DeviceOf(const DeviceFacts& d) {
  return {{"index", d.index},
          {"name", Text(d.name)},
          {"busy_mean", Maybe(d.busy_mean)},
          {"busy_p5", Maybe(d.busy_p5)},
          {"busy_p95", Maybe(d.busy_p95)},
          {"memory_peak_bytes", Whole(d.memory_peak_bytes)},
          {"memory_total_bytes", Whole(d.memory_total_bytes)},
          {"memory_mean_share", Maybe(d.memory_mean_share)},
          {"memory_peak_share", Maybe(d.memory_peak_share)},
          {"throttled_share", Maybe(d.throttled_share)},
          {"clock_mean_mhz", Maybe(d.clock_mean_mhz)},
          {"power_mean_w", Maybe(d.power_mean_w)},
          {"temperature_peak_c", Maybe(d.temperature_peak_c)},
          {"processes", d.holders}};
}

Json RunOf(const Report& report) {
  const Facts& facts = report.facts;
  const Store& store = *facts.store;
  const RunFacts& run = facts.run;
  return {{"command", report.command},
          {"watched", Text(store.Meta("watched"))},
          {"exit", ExitJson(store.Meta("exit"))},
          {"wall_ns", run.wall_ns},
          {"paused_ns", run.paused_ns},
          {"delay_ns", Maybe(run.delay_ns)},
          {"steady_ns", Maybe(run.steady_ns)},
          {"steady_why", Text(store.Meta("steady_why"))},
          {"cpu_ns", Maybe(run.cpu_ns)},
          {"cpu_from", Text(run.cpu_from)},
          {"cpu_wall_ns", run.cpu_wall_ns},
          {"cores_used", Maybe(run.cores_used)},
          {"judged_ns", facts.judged.wall_ns},
          {"judged_cores_used", Maybe(facts.judged.cores_used)},
          {"max_rss_bytes", Whole(run.max_rss_bytes)},
          {"cores", Whole(run.cores)},
          {"allowed_cores", Whole(run.allowed_cores)},
          {"cpu_limit_cores", Maybe(run.cpu_limit_cores)},
          {"memory_bytes", Maybe(MetaNs(store, "memory_bytes"))},
          {"memory_limit_bytes", Maybe(MetaNs(store, "memory_limit_bytes"))},
          {"host", Text(store.Meta("host"))},
          {"kernel", Text(store.Meta("kernel"))},
          {"cpu_model", Text(store.Meta("cpu_model"))},
          {"cwd", Text(store.Meta("cwd"))},
          {"rate_hz", Maybe(MetaNumber(store, "rate_hz"))},
          {"ticks", facts.ticks},
          {"still_running", Maybe(MetaNs(store, "still_running"))},
          {"ended_by", Text(store.Meta("ended_by"))},
          {"tree_source", Text(store.Meta("tree_source"))},
          {"sonde_version", Text(store.Meta("sonde_version"))}};
}

// As recorded, else by the pairs of clocks.
Json StartedRealtime(const Facts& facts) {
  const Store& store = *facts.store;
  if (const MaybeNs ns = MetaNs(store, "started_realtime_ns")) return *ns;
  if (store.clocks().empty()) return nullptr;
  return store.RealtimeOf(facts.run.begin_ns);
}

Json PhaseOf(const Phase& phase) {
  return {{"phase", NameOf(phase.kind)},
          {"from_ns", phase.from_ns},
          {"to_ns", phase.to_ns},
          {"level", phase.level},
          {"why", phase.reason}};
}

Json SeriesOf(const SeriesShape& one) {
  const Pattern& p = one.pattern;
  return {{"name", one.series->name},
          {"unit", one.series->unit},
          {"pattern", NameOf(p.kind)},
          {"confidence", p.confidence},
          {"level", p.level},
          {"low", p.low},
          {"high", p.high},
          {"period_s", Maybe(p.period_s)},
          {"slope_per_s", Maybe(p.slope_per_s)},
          {"text", p.text}};
}

// A share of the run's CPU time as far as it was sampled or is known.
Json FunctionOf(const Facts& facts, const FunctionFacts& f) {
  return {{"process", Known(f.process)},
          {"thread", Known(f.thread)},
          {"function", f.name},
          {"file", Text(f.file)},
          {"line", Known(f.line)},
          {"module", Text(f.module)},
          {"language", Text(f.language)},
          {"own_share", CpuShare(facts, f.own_ns)},
          {"self_share", CpuShare(facts, f.self_ns)},
          {"total_share", CpuShare(facts, f.total_ns)},
          {"own_ns", f.own_ns},
          {"self_ns", f.self_ns},
          {"samples", f.samples}};
}

Json LineOf(const CodeLine& at) {
  if (!at.known()) return nullptr;
  return {{"function", at.function},
          {"file", Text(at.file)},
          {"line", Known(at.line)}};
}

Json WaitOf(const WaitFacts& wait) {
  return {{"process", Known(wait.process)},
          {"thread", Known(wait.thread)},
          {"kind", NameOf(wait.kind)},
          {"call", Text(wait.call)},
          {"own", LineOf(wait.own)},
          {"library", LineOf(wait.library)},
          {"wait_ns", wait.ns},
          {"samples", wait.samples}};
}

Json SamplingOf(const Facts& facts) {
  const CodeFacts& code = facts.code;
  if (code.samples == 0) return nullptr;
  return {{"by", Text(facts.store->Meta("stacks_by"))},
          {"samples", code.samples},
          {"sampled_ns", code.sampled_ns},
          {"unknown_ns", code.unknown_ns},
          {"approximate", code.approximate}};
}

}  // namespace

std::string ReportJson(const Report& report) {
  const Facts& facts = report.facts;
  const Store& store = *facts.store;
  Json out;
  out["version"] = kVersion;
  out["trace"] = {{"path", store.path()},
                  {"finished", store.reader().finished()},
                  {"bytes", facts.overhead.trace_bytes},
                  {"events", store.event_count()}};
  out["verdict"] = report.judgement.verdict;
  out["advice"] = report.judgement.advice;
  out["findings"] = ListOf(report.judgement.findings, FindingOf);
  out["rules"] = ListOf(report.judgement.rules, [](const RuleState& r) -> Json {
    return {{"rule", r.rule->name},
            {"question", r.rule->question},
            {"state", NameOf(r.state)},
            {"why", Text(r.why)}};
  });
  out["losses"] = ListOf(report.losses, [](const Loss& l) -> Json {
    return {{"reason", l.reason},
            {"detail", l.detail},
            {"count", l.count == 0 ? Json() : Json(l.count)},
            {"from_ns", Time(l.from_ns)},
            {"to_ns", Time(l.to_ns)}};
  });
  out["not_collected"] =
      ListOf(report.not_collected, [](const NotCollected& m) -> Json {
        return {{"source", m.source}, {"why", m.why}, {"cure", Text(m.cure)}};
      });
  const MaybeNumber share = facts.overhead.share_of_core;
  out["overhead"] = {{"cpu_ns", Maybe(facts.overhead.cpu_ns)},
                     {"cpu_pct_of_core", share ? Json(*share * 100) : Json()},
                     {"rss_bytes", Whole(facts.overhead.rss_bytes)},
                     {"trace_bytes", facts.overhead.trace_bytes}};
  out["clock"] = {{"source", "CLOCK_MONOTONIC"},
                  {"started_realtime_ns", StartedRealtime(facts)},
                  {"started_ns", facts.run.begin_ns},
                  {"ended_ns", facts.run.end_ns}};
  out["run"] = RunOf(report);
  out["processes"] = ListOf(facts.processes, ProcessOf);
  out["short_processes"] =
      ListOf(facts.short_processes, [](const ShortProcesses& s) -> Json {
        return {{"name", s.name},
                {"count", s.count},
                {"failed", s.failed},
                {"exit_unknown", s.exit_unknown},
                {"cpu_ns", Maybe(s.cpu_ns)},
                {"cpu_unknown", s.cpu_unknown},
                {"cpu_share", Maybe(s.cpu_share)},
                {"wall_ns", s.wall_ns}};
      });
  out["unattributed_cpu_ns"] = Maybe(facts.run.unattributed_cpu_ns);
  out["machine"] = MachineOf(facts.machine);
  out["phases"] = ListOf(report.shape.phases.list, PhaseOf);
  out["series"] = ListOf(report.shape.series, SeriesOf);
  out["cgroups"] = ListOf(facts.cgroups, CgroupOf);
  out["devices"] = ListOf(facts.devices, DeviceOf);
  out["functions"] = ListOf(facts.code.functions, [&](const FunctionFacts& f) {
    return FunctionOf(facts, f);
  });
  out["sampling"] = SamplingOf(facts);
  out["waits"] = ListOf(facts.code.waits, WaitOf);
  const auto slice = [](const SliceFacts& s) -> Json {
    return {{"name", s.name},         {"count", s.count},
            {"total_ns", s.total_ns}, {"self_ns", s.self_ns},
            {"mean_ns", s.mean_ns()}, {"p50_ns", s.p50_ns},
            {"p99_ns", s.p99_ns},     {"share", s.share}};
  };
  out["slices"] = ListOf(facts.said.slices, slice);
  out["slice_tracks"] =
      ListOf(facts.said.tracks, [&](const TrackSlices& t) -> Json {
        return {{"process", Known(t.process)},
                {"thread", Known(t.thread)},
                {"name", t.name},
                {"self_ns", t.self_ns},
                {"slices", ListOf(t.slices, slice)}};
      });
  out["counters"] =
      ListOf(facts.said.counters, [](const CounterFacts& c) -> Json {
        return {{"process", Known(c.process)},
                {"name", c.name},
                {"unit", c.unit},
                {"values", c.values},
                {"min", c.min},
                {"max", c.max},
                {"mean", c.mean},
                {"last", c.last}};
      });
  out["marks"] = ListOf(facts.marks, [](const Mark& m) -> Json {
    return {{"time_ns", m.time_ns}, {"text", m.text}};
  });
  // Names in a trace may be any bytes; what is not UTF-8 becomes U+FFFD.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sonde
