// What the annotations of a process are in the middle of, for whoever goes on.

#include "collect/ring/annotations.h"
#include "trace/sources.h"

namespace sonde {

void OpenSlice::Archive(StateArchive& archive) {
  archive.Time(begin_ns);
  archive.String(name);
  archive.String(category);
  // One number, so that of the program's own slices it is the depth alone, as
  // in states that know of no others.
  uint64_t place =
      uint64_t{source} << 18 | static_cast<uint64_t>(cls) << 16 | depth;
  archive.Number(place);
  depth = static_cast<uint16_t>(place);
  cls = static_cast<Event::Class>(place >> 16 & 3);
  source = archive.StringIn(place >> 18);
  archive.Numbers(flow_in, flow_out);
  archive.Each(args, [&](Arg& arg) {
    auto type = static_cast<uint32_t>(arg.type);
    archive.String(arg.key);
    archive.Number(type);
    archive.Signed(arg.int_value);
    archive.Double(arg.double_value);
    archive.String(arg.string_value);
    if (type < 1 || type > static_cast<uint32_t>(Arg::Type::kString))
      archive.Refuse();
    else
      arg.type = static_cast<Arg::Type>(type);
  });
}

void Annotations::Archive(StateArchive& archive) {
  archive.Numbers(strange_, records_, last_time_, extra_.texts_left_out);
  archive.Each(threads_, [&](auto& entry) {
    ThreadState& state = entry.second;
    int64_t base = state.base;
    archive.Numbers(entry.first, state.thread, state.tid);
    archive.TrackId(state.track);
    archive.Signed(base);
    state.open.Archive(archive);
    if (base < -1 || base > UINT16_MAX)
      archive.Refuse();
    else
      state.base = static_cast<int32_t>(base);
  });
  archive.Each(losses_, [&](auto& entry) {
    LossState& state = entry.second;
    uint32_t rows = static_cast<uint32_t>(state.rows);
    archive.Number(entry.first);
    if (!archive.writing()) state.loss = LossOf(entry.first);
    archive.LossHandle(state.handle);
    archive.Numbers(rows, state.loss.count);
    archive.Signed(state.loss.from_ns);
    archive.Signed(state.loss.to_ns);
    state.rows = static_cast<int>(rows & INT32_MAX);
  });
  ArchiveShared(archive);
}

void Annotations::ArchiveShared(StateArchive& archive) {
  archive.Each(clocks_, [&](auto& entry) {
    archive.Number(entry.first);
    entry.second.Archive(archive);
  });
  archive.Each(custom_, [&](auto& entry) {
    CustomState& state = entry.second;
    archive.Number(entry.first);
    archive.TrackId(state.track);
    archive.Number(state.clock);
    state.open.Archive(archive);
    if (state.track == 0) archive.Refuse();
  });
  archive.Each(lanes_, [&](auto& entry) {
    archive.String(entry.first);
    archive.Each(entry.second, [&](Lane& lane) {
      archive.TrackId(lane.track);
      archive.Flag(lane.busy);
      if (lane.track == 0) archive.Refuse();
    });
  });
  archive.Each(ranges_, [&](auto& entry) {
    OpenRange& range = entry.second;
    archive.Number(entry.first);
    archive.String(range.label);
    archive.Number(range.lane);
    range.slice.Archive(archive);
    const auto lanes = lanes_.find(range.label);
    if (lanes == lanes_.end() || range.lane >= lanes->second.size())
      archive.Refuse();
  });
  archive.GroupId(group_);
  if (group_ != 0 && OfCollector(out_.SourceOf(group_))) archive.Refuse();
  archive.Each(counters_, [&](auto& entry) {
    CounterState& state = entry.second;
    archive.Number(entry.first);
    archive.SeriesId(state.series);
    archive.Signed(state.whole);
    archive.Double(state.real);
    if (state.series == 0 || out_.GroupOf(state.series) != group_)
      archive.Refuse();
  });
  archive.Each(held_, [&](Held& held) {
    RecordHead& head = held.head;
    archive.Numbers(head.time, head.id, head.kind, head.depth);
    archive.Numbers(held.key, held.first, held.count);
  });
  archive.Words(held_words_);
  for (const Held& held : held_)
    if (held.count < OwnWords(held.head.kind) ||
        held.first > held_words_.size() ||
        held.count > held_words_.size() - held.first)
      archive.Refuse();
  if (!archive.ok()) held_.clear();
}

}  // namespace sonde
