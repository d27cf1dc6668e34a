// The rows of a TraceWriter: strings, tracks, processes and so on, kept by key
// and written when they have changed.

#include <algorithm>

#include "base/check.h"
#include "trace/writer.h"

namespace sonde {
namespace {

constexpr size_t kLongestString = 64 << 10;
// Rows and strings are cut into frames of about this size.
constexpr size_t kTableFrame = 32 << 10;
// Argument sets held in memory.
constexpr size_t kMostArgSets = 64 << 10;

}  // namespace

template <typename Row>
void TraceWriter::Table<Row>::Put(size_t key, Row row) {
  if (key >= rows.size()) {
    rows.resize(key + 1);
    dirty.resize(key + 1);
  }
  rows[key] = std::move(row);
  if (!(dirty[key] & kForFile)) file_list.push_back(static_cast<uint32_t>(key));
  if (!(dirty[key] & kForJournal))
    journal_list.push_back(static_cast<uint32_t>(key));
  dirty[key] = kForFile | kForJournal;
}

template <typename Row>
void TraceWriter::Table<Row>::Unmark(size_t key, bool journal) {
  // What the file has, the journal need not repeat.
  dirty[key] &=
      static_cast<uint8_t>(journal ? ~kForJournal : ~(kForFile | kForJournal));
}

template <typename Row>
const Row* TraceWriter::PassingTable<Row>::Wanted(uint32_t key,
                                                  uint8_t by) const {
  const auto at = held.find(key);
  return at != held.end() && (at->second.dirty & by) != 0 ? &at->second.row
                                                          : nullptr;
}

template <typename Row>
void TraceWriter::PassingTable<Row>::Unmark(uint32_t key, bool journal) {
  const auto at = held.find(key);
  if (at == held.end()) return;
  if (journal)
    at->second.dirty &= static_cast<uint8_t>(~kForJournal);
  else
    held.erase(at);
}

uint32_t TraceWriter::Intern(std::string_view text) {
  if (text.size() > kLongestString) text = text.substr(0, kLongestString);
  if (const auto at = string_ids_.find(text); at != string_ids_.end())
    return at->second;
  const uint32_t id = static_cast<uint32_t>(strings_.size());
  strings_.push_back(std::make_unique<std::string>(text));
  string_ids_[*strings_.back()] = id;
  return id;
}

uint32_t TraceWriter::InternText(std::string_view text) {
  // About what one takes besides its bytes: two pointers, a node, a string.
  constexpr size_t kOverhead = 120;
  if (text_bytes_ >= kMostTextBytes) {
    const auto at = string_ids_.find(text);
    return at == string_ids_.end() ? 0 : at->second;
  }
  const size_t before = strings_.size();
  const uint32_t id = Intern(text);
  if (strings_.size() > before) text_bytes_ += text.size() + kOverhead;
  return id;
}

uint32_t TraceWriter::AddTrack(Track track) {
  track.id = static_cast<uint32_t>(tracks_.size());
  tracks_.emplace_back();
  track_rows_.Put(track.id, track);
  return track.id;
}

uint32_t TraceWriter::AddSeries(Series series) {
  CHECK(series.group > 0);
  series.id = static_cast<uint32_t>(series_.size());
  while (groups_.size() <= series.group)
    groups_.push_back(std::make_unique<CounterGroup>());
  if (groups_[series.group]->source == 0)
    groups_[series.group]->source = series.source;
  series_.push_back({0, series.type, series.group, false});
  series_rows_.Put(series.id, series);
  return series.id;
}

uint32_t TraceWriter::AddGroup() {
  groups_.push_back(std::make_unique<CounterGroup>());
  return static_cast<uint32_t>(groups_.size() - 1);
}

void TraceWriter::AddSymbol(const Symbol& symbol) {
  CHECK(symbol.frame != 0);
  symbols_.Put(++symbols_.last_id, symbol);
}

uint32_t TraceWriter::AddArgs(const std::vector<Arg>& args) {
  if (args.empty()) return 0;
  ArgSet set{0, args};
  ByteWriter key;
  EncodeRow(set, key);
  const size_t row = args_.rows.size();
  const uint32_t next = static_cast<uint32_t>(args_in_file_ + row + 1);
  const auto [at, fresh] = arg_ids_.try_emplace(key.Take(), next);
  const uint32_t id = at->second;
  if (!fresh) return id;
  set.id = next;
  args_.Put(row, std::move(set));
  if (args_.rows.size() >= kMostArgSets && !failure_) SealTables(false);
  return id;
}

// A set that is in the file is not needed here any more, but to be found again;
// and where nearly every event has one of its own, few are.
void TraceWriter::ForgetArgs() {
  if (!args_.file_list.empty()) return;
  args_in_file_ += args_.rows.size();
  args_ = {};
  if (arg_ids_.size() >= kMostArgSets) arg_ids_.clear();
}

void TraceWriter::PutProcess(const Process& process) {
  CHECK(process.number != 0);
  processes_.Put(process.number, process);
}

void TraceWriter::PutThread(const Thread& thread) {
  CHECK(thread.number != 0);
  threads_.Put(thread.number, thread);
}

void TraceWriter::PutMeta(std::string_view key, std::string_view value) {
  const auto [at, fresh] = meta_keys_.try_emplace(
      std::string(key), static_cast<uint32_t>(meta_.rows.size()));
  meta_.Put(at->second,
            {std::string(key), std::string(value.substr(0, kLongestString))});
}

void TraceWriter::AddClock(const ClockPair& pair) {
  const size_t key = clocks_.rows.size();
  clocks_.Put(key, {key, pair});
}

size_t TraceWriter::AddLoss(Loss loss) {
  const size_t key = losses_.rows.size();
  losses_.Put(key, {key, std::move(loss)});
  return key;
}

void TraceWriter::UpdateLoss(size_t handle, const Loss& loss) {
  losses_.Put(handle, {handle, loss});
}

void TraceWriter::PutLoss(std::optional<size_t>& handle, const Loss& loss) {
  if (handle)
    UpdateLoss(*handle, loss);
  else
    handle = AddLoss(loss);
}

void TraceWriter::PutNotCollected(const std::vector<NotCollected>& rows) {
  // One that can be collected after all is said to be nothing.
  for (size_t key = 0; key < std::max(rows.size(), not_collected_.rows.size());
       ++key)
    not_collected_.Put(key,
                       {key, key < rows.size() ? rows[key] : NotCollected()});
}

void TraceWriter::SealTables(bool journal) {
  for (const StackRow& row : stacks_.TakeRows())
    stack_rows_.Put(++stack_rows_.last_id, row);
  const auto put = [&](FrameKind kind, std::string_view payload) {
    if (!journal) return Put(kind, payload);
    PutJournal(kind, payload);
    return true;
  };
  const auto put_rows = [&](FrameKind kind, auto& table) {
    std::vector<uint32_t> keys;
    keys.swap(journal ? table.journal_list : table.file_list);
    std::sort(keys.begin(), keys.end());
    // Frames of a bounded size, however many and however long the rows are.
    for (size_t at = 0; at < keys.size();) {
      const size_t first = at;
      uint64_t count = 0;
      ByteWriter rows, one, payload;
      for (; at < keys.size() && rows.bytes().size() < kTableFrame; ++at) {
        const auto* const row =
            table.Wanted(keys[at], journal ? kForJournal : kForFile);
        if (row == nullptr) continue;
        one.Clear();
        EncodeRow(*row, one);
        rows.Text(one.bytes());
        ++count;
      }
      if (count == 0) continue;
      payload.Varint(count);
      payload.Raw(rows.bytes().data(), rows.bytes().size());
      const bool done = put(kind, payload.bytes());
      for (size_t i = first; i < at; ++i) {
        if (done || journal)
          table.Unmark(keys[i], journal);
        else
          table.file_list.push_back(keys[i]);
      }
    }
  };
  // What is missing comes first: where room ends, it must still be said.
  put_rows(FrameKind::kLosses, losses_);
  put_rows(FrameKind::kNotCollected, not_collected_);
  put_rows(FrameKind::kMeta, meta_);

  size_t& have = journal ? strings_in_journal_ : strings_in_file_;
  while (have < strings_.size()) {
    std::vector<std::string_view> run;
    size_t bytes = 0;
    const size_t first = have;
    while (have < strings_.size() && bytes < kTableFrame) {
      run.push_back(*strings_[have]);
      bytes += strings_[have++]->size();
    }
    if (!put(FrameKind::kStrings,
             EncodeStrings(static_cast<uint32_t>(first), run))) {
      have = first;
      break;
    }
  }
  if (!journal)
    strings_in_journal_ = std::max(strings_in_journal_, strings_in_file_);

  put_rows(FrameKind::kTracks, track_rows_);
  put_rows(FrameKind::kProcesses, processes_);
  put_rows(FrameKind::kThreads, threads_);
  put_rows(FrameKind::kSeries, series_rows_);
  ForEachPlainKind([&]<typename Row>(const PlainKind<Row>& kind) {
    put_rows(kind.frame, std::get<PassingTable<Row>>(plain_));
  });
  put_rows(FrameKind::kStacks, stack_rows_);
  put_rows(FrameKind::kSymbols, symbols_);
  put_rows(FrameKind::kArgs, args_);
  if (!journal) ForgetArgs();
  put_rows(FrameKind::kClocks, clocks_);
}

}  // namespace sonde
