// The fields of every kind of row, each list once, in the order of the file.
//
// `VisitFields(f, row)` calls one function of `f` for each field. What reads,
// writes, copies and spells rows is a class with these functions: a new field
// is a line here and no line there.
//
//     f.Number("pid", v)            a plain number, signed or not
//     f.Time("start", v)            ns; kNoTime: none
//     f.Cost("cpu", v)              ns; -1: not collected
//     f.String("name", v)           the id of a string
//     f.Text("why", v)              a text that stands in the row itself
//     f.Ref(FrameKind::kX, "x", v)  the key of a row of that kind, 0: none
//     f.Choice("kind", v, words, first)  an enumeration: words[0] is `first`; a
//                                   number beyond reads as a new row has it

#ifndef SONDE_TRACE_FIELDS_H_
#define SONDE_TRACE_FIELDS_H_

#include <array>
#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "trace/format.h"
#include "trace/model.h"

namespace sonde {

// A row of type T, to read or to fill.
template <typename Row, typename T>
concept IsRow = std::same_as<std::remove_const_t<Row>, T>;

inline constexpr std::array<std::string_view, 5> kTrackKinds = {
    "thread", "process", "machine", "custom", "queue"};
inline constexpr std::array<std::string_view, 4> kExits = {
    "unknown", "exited", "signaled", "running"};
inline constexpr std::array<std::string_view, 4> kScopes = {
    "machine", "process", "thread", "device"};
inline constexpr std::array<std::string_view, 2> kSeriesKinds = {"gauge",
                                                                 "total"};
inline constexpr std::array<std::string_view, 2> kSeriesTypes = {"int",
                                                                 "double"};
inline constexpr std::array<std::string_view, 4> kClasses = {
    "program", "call", "device", "operator"};

// Where in a row its key stands, for rows that others refer to.
template <typename Row>
requires requires(Row& r) { r.id; }
auto& KeyOf(Row& r) { return r.id; }
template <typename Row>
requires requires(Row& r) { r.number; }
auto& KeyOf(Row& r) { return r.number; }
template <IsRow<Symbol> Row>
auto& KeyOf(Row& r) {
  return r.frame;
}

template <typename F, IsRow<Track> Row>
void VisitFields(F& f, Row& r) {
  f.Choice("kind", r.kind, kTrackKinds, Track::Kind::kThread);
  f.Ref(FrameKind::kProcesses, "process", r.process);
  f.Ref(FrameKind::kThreads, "thread", r.thread);
  f.String("name", r.name);
  f.String("source", r.source);
  f.Ref(FrameKind::kDevices, "device", r.device);
  f.Ref(FrameKind::kTracks, "parent", r.parent);
  f.Number("order", r.order);
  f.String("clock", r.clock);
}

template <typename F, IsRow<Process> Row>
void VisitFields(F& f, Row& r) {
  f.Ref(FrameKind::kProcesses, "parent", r.parent);
  f.Number("pid", r.pid);
  f.Time("start", r.start_ns);
  f.Time("end", r.end_ns);
  f.String("name", r.name);
  f.String("cmdline", r.cmdline);
  f.Choice("exit", r.exit, kExits, Process::Exit::kUnknown);
  f.Number("exit_code", r.exit_code);
  f.Number("execs", r.execs);
  f.Cost("cpu", r.cpu_ns);
}

template <typename F, IsRow<Thread> Row>
void VisitFields(F& f, Row& r) {
  f.Ref(FrameKind::kProcesses, "process", r.process);
  f.Number("tid", r.tid);
  f.Time("start", r.start_ns);
  f.Time("end", r.end_ns);
  f.String("name", r.name);
  f.Cost("cpu", r.cpu_ns);
}

template <typename F, IsRow<Series> Row>
void VisitFields(F& f, Row& r) {
  f.Number("group", r.group);
  f.Choice("scope", r.scope, kScopes, Series::Scope::kMachine);
  f.Number("scope_id", r.scope_id);
  f.String("name", r.name);
  f.String("label", r.label);
  f.String("unit", r.unit);
  f.Choice("kind", r.kind, kSeriesKinds, Series::Kind::kGauge);
  f.Choice("type", r.type, kSeriesTypes, Series::Type::kInt);
  f.String("source", r.source);
  f.Ref(FrameKind::kDevices, "device", r.device);
}

template <typename F, IsRow<Device> Row>
void VisitFields(F& f, Row& r) {
  f.String("source", r.source);
  f.String("vendor", r.vendor);
  f.String("name", r.name);
  f.String("uuid", r.uuid);
  f.Number("number", r.index);
}

template <typename F, IsRow<Module> Row>
void VisitFields(F& f, Row& r) {
  f.String("path", r.path);
  f.String("build_id", r.build_id);
}

template <typename F, IsRow<StackFrame> Row>
void VisitFields(F& f, Row& r) {
  f.String("function", r.function);
  f.Ref(FrameKind::kModules, "module", r.module);
  f.String("file", r.file);
  f.Number("line", r.line);
  f.Number("offset", r.offset);
}

template <typename F, IsRow<Symbol> Row>
void VisitFields(F& f, Row& r) {
  f.Number("depth", r.depth);
  f.String("function", r.function);
  f.String("file", r.file);
  f.Number("line", r.line);
  f.Number("inlined", r.inlined);
  f.Number("loop", r.loop);
}

template <typename F, IsRow<SampleSum> Row>
void VisitFields(F& f, Row& r) {
  f.Ref(FrameKind::kThreads, "thread", r.thread);
  f.Number("stack", r.stack);
  f.Number("flags", r.flags);
  f.Number("count", r.count);
  f.Number("weight", r.weight_ns);
}

template <typename F, IsRow<ClockPair> Row>
void VisitFields(F& f, Row& r) {
  f.Number("monotonic", r.monotonic_ns);
  f.Number("realtime", r.realtime_ns);
  f.Number("boottime", r.boottime_ns);
}

template <typename F, IsRow<Loss> Row>
void VisitFields(F& f, Row& r) {
  f.Text("reason", r.reason);
  f.Text("detail", r.detail);
  f.Number("count", r.count);
  f.Time("from", r.from_ns);
  f.Time("to", r.to_ns);
  f.Text("source", r.source);
}

template <typename F, IsRow<NotCollected> Row>
void VisitFields(F& f, Row& r) {
  f.Text("source", r.source);
  f.Text("why", r.why);
  f.Text("cure", r.cure);
}

// A kind of row that is nothing but an id, which the writer gives, and fields.
// Texts are ids of strings: what a row takes in memory is its size.
template <typename Row>
struct PlainKind {
  FrameKind frame;
  const char* word;  // in the text form, and of its table in SQL
  const char* what;  // one line on that table
};

// All of those kinds. What loads, writes, copies, spells and queries rows goes
// through this list: a new kind is a line here and no line there. A row refers
// to processes, threads and rows of the kinds before its own.
inline constexpr std::tuple kPlainKinds = {
    PlainKind<Device>{FrameKind::kDevices, "device", "accelerators"},
    PlainKind<Module>{FrameKind::kModules, "module",
                      "programs and libraries that stacks lie in"},
};

// Calls `f` with each PlainKind.
template <typename F>
void ForEachPlainKind(F f) {
  std::apply([&](const auto&... kind) { (f(kind), ...); }, kPlainKinds);
}

// A tuple with a Table<Row> for each of those kinds.
template <template <typename> typename Table, typename... Row>
std::tuple<Table<Row>...> TablesOf(const std::tuple<PlainKind<Row>...>&);
template <template <typename> typename Table>
using PlainTables = decltype(TablesOf<Table>(kPlainKinds));

}  // namespace sonde

#endif  // SONDE_TRACE_FIELDS_H_
