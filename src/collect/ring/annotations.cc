#include "collect/ring/annotations.h"

#include <algorithm>
#include <cstring>

#include "base/time.h"
#include "trace/sources.h"

namespace sonde {
namespace {

// Losses of one reason that are nearer than this are one.
constexpr int64_t kSameLossNs = kNsPerSec;
constexpr int kMostLossRows = 64;

RecordHead HeadOf(const uint64_t* words) {
  RecordHead head;
  std::memcpy(&head, words, sizeof(head));
  return head;
}

// Kinds that several threads write about one thing.
bool Waits(uint8_t kind) {
  switch (kind) {
    case SONDE_KIND_COUNTER:
    case SONDE_KIND_COUNTER_ADD:
    case SONDE_KIND_COUNTER_DOUBLE:
    case SONDE_KIND_COUNTER_ADD_DBL:
    case SONDE_KIND_RANGE_BEGIN:
    case SONDE_KIND_RANGE_END:
    case SONDE_KIND_RANGE_INSTANT:
    case SONDE_KIND_CLOCK_PAIR:
      return true;
    default:
      return false;
  }
}

}  // namespace

Annotations::Annotations(TraceWriter& out, Options options)
    : out_(out), options_(std::move(options)), names_(out, options_.look) {}

// Nothing a program says can lie outside what a trace can hold, or a whole
// chunk of it could not be read.
int64_t Annotations::Bounded(int64_t ns) const {
  return std::clamp<int64_t>(ns, 0, kMaxTimeNs / 2);
}

int64_t Annotations::ToNs(uint64_t time) const {
  return options_.ticks != nullptr
             ? options_.ticks->ToNs(time)
             : Bounded(static_cast<int64_t>(time & INT64_MAX));
}

int64_t Annotations::ToNs(uint64_t time, uint32_t clock) const {
  const auto at = clocks_.find(clock);
  return at == clocks_.end() ? ToNs(time) : Bounded(at->second.ToNs(time));
}

uint32_t Annotations::NewTrack(Track row) {
  row.process = options_.process;
  if (row.source == 0) row.source = out_.Intern(source::kApi);
  return out_.AddTrack(row);
}

uint32_t Annotations::TrackOf(ThreadState& state) {
  // One the tree does not know (of another pid namespace) has at least a name.
  if (state.track == 0) {
    Track row;
    row.thread = state.thread;
    if (state.thread == 0)
      row.name = out_.Intern("thread " + std::to_string(state.tid));
    state.track = NewTrack(row);
  }
  return state.track;
}

void Annotations::Add(uint32_t track, const OpenSlice& slice, int64_t end_ns,
                      uint8_t flags, Event::Kind kind) {
  Event event;
  event.kind = kind;
  event.begin_ns = slice.begin_ns;
  event.dur_ns = std::max<int64_t>(0, end_ns - slice.begin_ns);
  event.name = slice.name;
  event.category = slice.category;
  event.cls = slice.cls;
  event.source = slice.source;
  event.depth = slice.depth;
  event.flags = flags;
  event.flow_in = slice.flow_in;
  event.flow_out = slice.flow_out;
  if (!slice.args.empty()) event.args = out_.AddArgs(slice.args);
  out_.AddEvent(track, event);
}

void Annotations::CloseAll(uint32_t track, OpenSlices& open, int64_t at_ns) {
  open.Unwind(0, [&](const OpenSlice& slice) {
    Add(track, slice, at_ns, Event::kUnfinished);
  });
}

OpenSlice Annotations::SliceOf(const Record& record, int64_t begin_ns,
                               WireExtra& extra) {
  const WireNames::Label label = names_.Find(record.head.id);
  OpenSlice slice;
  slice.begin_ns = begin_ns;
  slice.name = label.name;
  slice.category = extra.category != 0 ? extra.category : label.category;
  slice.cls = extra.on_queue ? Event::Class::kDevice : label.cls;
  slice.source = label.source;
  slice.depth = record.head.depth;
  if (extra.flow_in != 0) slice.flow_in = FlowOf(extra.flow_in, extra.global);
  if (extra.flow_out != 0)
    slice.flow_out = FlowOf(extra.flow_out, extra.global);
  slice.args = std::move(extra.args);
  if (label.color != 0) {
    Arg arg;
    arg.key = out_.Intern("color");
    arg.int_value = label.color;
    slice.args.push_back(arg);
  }
  return slice;
}

void Annotations::Take(uint32_t key, uint32_t thread, uint32_t tid,
                       std::span<const uint64_t> words) {
  ThreadState& state = threads_[key];
  state.tid = tid;
  if (state.thread == 0) state.thread = thread;
  for (size_t at = 0; at + 2 <= words.size();) {
    Record record;
    record.head = HeadOf(&words[at]);
    at += 2;
    ++records_;
    if (record.head.words > words.size() - at) {
      ++strange_;
      return;
    }
    record.words = words.subspan(at, record.head.words);
    at += record.head.words;
    // A thread counts its depth on while nothing is recorded.
    if (state.base < 0 || record.head.depth < state.base)
      state.base = record.head.depth;
    record.head.depth = static_cast<uint16_t>(record.head.depth - state.base);
    TakeOne(key, state, record);
    last_time_ = std::max(last_time_, record.head.time);
  }
}

void Annotations::Paused(int64_t at_ns) {
  for (auto& [key, state] : threads_) {
    if (state.open.Top() != nullptr)
      CloseAll(TrackOf(state), state.open, at_ns);
    state.base = -1;
  }
}

// A record has 16 bits for its depth. Behind the deepest it begins anew at 0,
// and which end belongs to which begin is not known any more.
void Annotations::NoteTooDeep(ThreadState& state, uint16_t depth,
                              int64_t at_ns) {
  const OpenSlice* const top = state.open.Top();
  if (depth == 0 && top != nullptr && top->depth == UINT16_MAX) [[unlikely]]
    Lose(kTooDeep, UINT16_MAX + 1, top->begin_ns, at_ns);
}

void Annotations::TakeOne(uint32_t key, ThreadState& state,
                          const Record& record) {
  const RecordHead& head = record.head;
  const int64_t now_ns = ToNs(head.time);
  const auto lost = [&](const OpenSlice& slice) {
    Add(TrackOf(state), slice, now_ns, Event::kUnfinished);
  };
  // Most records are one of these two, without anything behind them.
  if (head.words == 0 && head.kind == SONDE_KIND_BEGIN) {
    extra_.Clear();
    NoteTooDeep(state, head.depth, now_ns);
    state.open.Begin(SliceOf(record, now_ns, extra_), lost);
    return;
  }
  if (head.words == 0 && head.kind == SONDE_KIND_END) {
    state.open.End(
        head.depth,
        [&](const OpenSlice& slice) { Add(TrackOf(state), slice, now_ns, 0); },
        lost);
    return;
  }
  const size_t own = OwnWords(head.kind);
  if (own > record.words.size() ||
      !extra_.Parse(record.words.subspan(own), names_, out_)) {
    ++strange_;
    return;
  }
  if (Waits(head.kind) || extra_.track != 0) {
    held_.push_back({head, key, held_words_.size(), record.words.size()});
    held_words_.insert(held_words_.end(), record.words.begin(),
                       record.words.end());
    return;
  }
  const int64_t at_ns = extra_.has_time ? ToNs(extra_.time) : now_ns;
  switch (head.kind) {
    case SONDE_KIND_BEGIN:
      NoteTooDeep(state, head.depth, at_ns);
      state.open.Begin(SliceOf(record, at_ns, extra_), lost);
      break;
    case SONDE_KIND_END:
      state.open.End(
          head.depth,
          [&](OpenSlice& slice) {
            slice.args.insert(slice.args.end(), extra_.args.begin(),
                              extra_.args.end());
            if (extra_.flow_in != 0)
              slice.flow_in = FlowOf(extra_.flow_in, extra_.global);
            if (extra_.flow_out != 0)
              slice.flow_out = FlowOf(extra_.flow_out, extra_.global);
            Add(TrackOf(state), slice, at_ns, 0);
          },
          lost);
      break;
    case SONDE_KIND_COMPLETE:
      Add(TrackOf(state), SliceOf(record, ToNs(record.words[0]), extra_),
          ToNs(record.words[1]), 0);
      break;
    case SONDE_KIND_INSTANT:
    case SONDE_KIND_TEXT:
      Instant(TrackOf(state), head.depth, record, at_ns, extra_);
      break;
    case SONDE_KIND_FLOW_BEGIN:
    case SONDE_KIND_FLOW_STEP:
    case SONDE_KIND_FLOW_END:
      Flow(state, record, extra_);
      break;
    case SONDE_KIND_THREAD_NAME:
      if (options_.name_thread && state.thread != 0)
        options_.name_thread(state.thread,
                             out_.StringOf(names_.Find(head.id).name));
      break;
    case SONDE_KIND_PROCESS_NAME:
      if (options_.name_process)
        options_.name_process(out_.StringOf(names_.Find(head.id).name));
      break;
    case SONDE_KIND_LOST:
      Lost(record);
      break;
    case SONDE_KIND_PAUSE:
    case SONDE_KIND_RESUME: {
      OpenSlice moment;
      moment.begin_ns = at_ns;
      moment.depth = head.depth;
      moment.name = out_.Intern(head.kind == SONDE_KIND_PAUSE
                                    ? "the program pauses recording"
                                    : "the program resumes recording");
      moment.category = out_.Intern("session");
      Add(TrackOf(state), moment, at_ns, 0, Event::Kind::kInstant);
      if (head.kind == SONDE_KIND_PAUSE) Paused(at_ns);
      break;
    }
    case SONDE_KIND_NONE:
    case SONDE_KIND_THREAD:
    case SONDE_KIND_STACK:
      break;  // for the ring itself, or not made use of yet
    default:
      ++strange_;
  }
}

void Annotations::Instant(uint32_t track, uint16_t depth, const Record& record,
                          int64_t at_ns, WireExtra& extra) {
  OpenSlice moment = SliceOf(record, at_ns, extra);
  moment.depth = depth;
  if (record.head.kind == SONDE_KIND_TEXT && moment.category == 0)
    moment.category = out_.Intern("log");
  Add(track, moment, at_ns, 0, Event::Kind::kInstant);
}

// A flow hangs on the slice around it; where that has one already, or there is
// none, on a moment of its own.
void Annotations::Flow(ThreadState& state, const Record& record,
                       WireExtra& extra) {
  const uint64_t flow = record.words[0];
  const uint64_t id = FlowOf(flow, extra.global);
  const bool in = record.head.kind != SONDE_KIND_FLOW_BEGIN;
  const bool out = record.head.kind != SONDE_KIND_FLOW_END;
  OpenSlice* const top = state.open.Top();
  if (top != nullptr && (!in || top->flow_in == 0) &&
      (!out || top->flow_out == 0)) {
    if (in) top->flow_in = id;
    if (out) top->flow_out = id;
    // An arrow has no name of its own in a trace; the slice says it.
    if (record.head.id != 0) {
      Arg arg;
      arg.key = out_.Intern(in ? "flow_in" : "flow_out");
      arg.type = Arg::Type::kString;
      arg.string_value = names_.Find(record.head.id).name;
      top->args.push_back(arg);
    }
    return;
  }
  extra.flow_in = in ? flow : 0;
  extra.flow_out = out ? flow : 0;
  Instant(TrackOf(state), record.head.depth, record, ToNs(record.head.time),
          extra);
}

Loss Annotations::LossOf(uint32_t why) {
  Loss loss;
  if (why == kNotANumber) {
    loss.reason = "ring-not-a-number";
    loss.detail =
        "values the program gave its counters that are not finite numbers";
  } else if (why == kTooDeep) {
    loss.reason = "ring-too-deep";
    loss.detail =
        "ends of slices: the program has more than 65 536 open in each other "
        "on one thread";
  } else if (why == static_cast<uint32_t>(LostWhy::kNested)) {
    loss.reason = "ring-nested";
    loss.detail =
        "records of signal handlers that came while their thread was recording";
  } else {
    loss.reason = "ring-full";
    loss.detail = "records the program made faster than they could be read";
  }
  return loss;
}

void Annotations::Lost(const Record& record) {
  const uint32_t why = record.head.id;
  if (why != static_cast<uint32_t>(LostWhy::kFull) &&
      why != static_cast<uint32_t>(LostWhy::kNested)) {
    ++strange_;
    return;
  }
  Lose(why, record.words[0], ToNs(record.words[1]), ToNs(record.words[2]));
}

void Annotations::Lose(uint32_t why, uint64_t count, int64_t from_ns,
                       int64_t to_ns) {
  const auto [at, fresh] = losses_.try_emplace(why);
  LossState& state = at->second;
  if (fresh || (from_ns > state.loss.to_ns + kSameLossNs &&
                state.rows < kMostLossRows)) {
    ++state.rows;
    state.loss = LossOf(why);
    state.loss.from_ns = from_ns;
    state.loss.to_ns = to_ns;
    state.handle = out_.AddLoss(state.loss);
  }
  state.loss.count += count;
  state.loss.from_ns = std::min(state.loss.from_ns, from_ns);
  state.loss.to_ns = std::max(state.loss.to_ns, to_ns);
  out_.UpdateLoss(state.handle, state.loss);
}

void Annotations::ThreadEnded(uint32_t key, int64_t at_ns) {
  const auto at = threads_.find(key);
  if (at == threads_.end()) return;
  ThreadState& state = at->second;
  if (state.open.Top() != nullptr) CloseAll(TrackOf(state), state.open, at_ns);
  threads_.erase(at);
}

void Annotations::ProcessEnded(int64_t at_ns) {
  EndPass(UINT64_MAX);
  for (auto& [key, state] : threads_)
    if (state.open.Top() != nullptr)
      CloseAll(TrackOf(state), state.open, at_ns);
  threads_.clear();
  for (auto& [id, state] : custom_) CloseAll(state.track, state.open, at_ns);
  for (auto& [id, range] : ranges_)
    Add(lanes_[range.label][range.lane].track, range.slice, at_ns,
        Event::kUnfinished);
  ranges_.clear();
}

}  // namespace sonde
