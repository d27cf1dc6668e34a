// trace_check FILE: opens a trace with the reader of the program, decodes all
// of it, and prints what it found as one JSON object. Exit 0: it opened.

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace/reader.h"
#include "trace/tables.h"

namespace sonde {
namespace {

using nlohmann::json;

struct Contents {
  std::map<uint32_t, std::string> strings;
  std::map<std::string, std::string> meta;
  std::map<uint32_t, Process> processes;
  std::map<uint32_t, Thread> threads;
  std::map<uint64_t, Loss> losses;
  std::map<uint32_t, Track> tracks;
  std::map<uint32_t, std::vector<Arg>> args;
  std::vector<std::pair<uint32_t, Event>> events;  // track, event
  uint64_t ticks = 0, values = 0, undecodable = 0;
  int64_t last_ns = kNoTime;

  std::string Text(uint32_t id) const {
    const auto at = strings.find(id);
    return at == strings.end() ? "" : at->second;
  }
};

bool TakeEvents(std::string_view payload, Contents& out) {
  EventChunkDecoder decoder;
  EventColumns columns;
  if (!decoder.Open(payload) || !decoder.Decode(kMaskAll, columns))
    return false;
  for (size_t i = 0; i < columns.size(); ++i) {
    out.events.emplace_back(decoder.info().track, columns.At(i));
    out.last_ns = std::max(out.last_ns, columns.end_ns[i]);
  }
  return true;
}

bool TakeCounters(std::string_view payload, Contents& out) {
  CounterChunkDecoder decoder;
  CounterTicks ticks;
  if (!decoder.Open(payload) || !decoder.Decode(ticks)) return false;
  out.ticks += ticks.size();
  out.values += ticks.changes.size();
  if (ticks.size() > 0)
    out.last_ns = std::max(out.last_ns, ticks.time_ns.back());
  return true;
}

bool Take(FrameKind kind, std::string_view payload, Contents& out) {
  switch (kind) {
    case FrameKind::kStrings:
      return DecodeStrings(payload, [&](uint32_t id, std::string_view text) {
        out.strings[id] = text;
      });
    case FrameKind::kMeta:
      return DecodeRows<MetaEntry>(
          payload, [&](MetaEntry row) { out.meta[row.key] = row.value; });
    case FrameKind::kTracks:
      return DecodeRows<Track>(payload,
                               [&](Track row) { out.tracks[row.id] = row; });
    case FrameKind::kProcesses:
      return DecodeRows<Process>(
          payload, [&](Process row) { out.processes[row.number] = row; });
    case FrameKind::kThreads:
      return DecodeRows<Thread>(
          payload, [&](Thread row) { out.threads[row.number] = row; });
    case FrameKind::kArgs:
      return DecodeRows<ArgSet>(
          payload, [&](ArgSet row) { out.args[row.id] = row.args; });
    case FrameKind::kLosses:
      return DecodeRows<LossRow>(
          payload, [&](LossRow row) { out.losses[row.ordinal] = row.row; });
    case FrameKind::kEvents:
      return TakeEvents(payload, out);
    case FrameKind::kCounters:
      return TakeCounters(payload, out);
    default:
      return true;
  }
}

json SessionEvents(const Contents& in) {
  json out = json::array();
  for (const auto& [track, event] : in.events) {
    const auto at = in.tracks.find(track);
    if (at == in.tracks.end() || at->second.kind != Track::Kind::kMachine)
      continue;
    json row = {{"name", in.Text(event.name)},
                {"category", in.Text(event.category)},
                {"instant", event.kind == Event::Kind::kInstant},
                {"begin_ns", event.begin_ns},
                {"dur_ns", event.dur_ns}};
    if (const auto set = in.args.find(event.args); set != in.args.end())
      for (const Arg& arg : set->second)
        if (arg.type == Arg::Type::kString)
          row[in.Text(arg.key)] = in.Text(arg.string_value);
    out.push_back(std::move(row));
  }
  return out;
}

json Describe(const TraceReader& reader, const Contents& in) {
  json processes = json::array(), losses = json::array(),
       damages = json::array();
  for (const auto& [number, p] : in.processes)
    processes.push_back({{"number", number},
                         {"parent", p.parent},
                         {"pid", p.pid},
                         {"name", in.Text(p.name)},
                         {"start_ns", p.start_ns},
                         {"end_ns", p.end_ns},
                         {"exit", static_cast<uint32_t>(p.exit)},
                         {"exit_code", p.exit_code},
                         {"execs", p.execs},
                         {"cpu_ns", p.cpu_ns}});
  for (const auto& [ordinal, loss] : in.losses)
    losses.push_back({{"reason", loss.reason},
                      {"detail", loss.detail},
                      {"count", loss.count},
                      {"from_ns", loss.from_ns},
                      {"to_ns", loss.to_ns}});
  for (const Damage& d : reader.damages())
    damages.push_back({{"journal", d.journal},
                       {"offset", d.offset},
                       {"bytes", d.bytes},
                       {"what", d.what}});
  return {{"finished", reader.finished()},
          {"frames", reader.frames().size()},
          {"events", in.events.size()},
          {"ticks", in.ticks},
          {"values", in.values},
          {"threads", in.threads.size()},
          {"last_ns", in.last_ns},
          {"undecodable", in.undecodable},
          {"meta", in.meta},
          {"session", SessionEvents(in)},
          {"processes", processes},
          {"losses", losses},
          {"damages", damages}};
}

int Main(const char* path) {
  const auto reader = TraceReader::Open(path);
  if (!reader.ok()) {
    std::fprintf(stderr, "trace_check: %s\n", reader.error().what.c_str());
    return 1;
  }
  Contents contents;
  std::string payload;
  for (const FrameRef& frame : reader.value().frames())
    if (!reader.value().Read(frame, payload) ||
        !Take(frame.kind, payload, contents))
      ++contents.undecodable;
  std::puts(Describe(reader.value(), contents)
                .dump(-1, ' ', true, json::error_handler_t::replace)
                .c_str());
  return 0;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  if (argc == 2) return sonde::Main(argv[1]);
  std::fputs("usage: trace_check FILE\n", stderr);
  return 2;
}
