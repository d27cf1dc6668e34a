// The bars of trace and store, one JSON object a line. See docs of `bench` in
// sonde.sh; --quick makes everything a hundred times smaller and says so in the
// events it names.

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "store/sql.h"
#include "training_trace.h"

namespace sonde {
namespace {

struct Settings {
  uint64_t events = 100'000'000;
  uint64_t encode_events = 8'000'000;
  int rounds = 5;
  std::string directory;
  std::string sonde;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool all_ok = true;

void Report(const char* bar, double value, const char* unit, double limit,
            bool at_most, const std::string& peers) {
  const bool ok = at_most ? value <= limit : value >= limit;
  all_ok &= ok;
  fmt::print(
      "{{\"bar\":\"{}\",\"value\":{:.4g},\"unit\":\"{}\",\"limit\":{},"
      "\"ok\":{},\"peers\":{{{}}}}}\n",
      bar, value, unit, limit, ok, peers);
  std::fflush(stdout);
}

std::unique_ptr<TraceWriter> NewTrace(const std::string& path) {
  TraceWriter::Options options;
  options.journal = false;
  options.replace = true;
  auto writer = TraceWriter::Create(path, {}, options);
  if (!writer.ok()) {
    std::fprintf(stderr, "%s\n", writer.error().what.c_str());
    std::exit(1);
  }
  return writer.Take();
}

void Execute(sqlite3* db, const char* sql) {
  char* message = nullptr;
  if (sqlite3_exec(db, sql, nullptr, nullptr, &message) == SQLITE_OK) return;
  std::fprintf(stderr, "%s: %s\n", sql, message);
  std::exit(1);
}

// The same numbers as rows of an SQLite file: its bytes a row, and how fast it
// groups them.
struct Peer {
  double bytes_per_row = 0;
  double group_mrps = 0;
};

Peer MeasureSqlite(const std::string& directory) {
  constexpr int kRows = 1'000'000;
  const std::string path = directory + "/peer.sqlite";
  std::filesystem::remove(path);
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  Execute(db,
          "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
          "CREATE TABLE slice(ts INTEGER, dur INTEGER, track_id INTEGER,"
          " name TEXT, depth INTEGER)");
  Execute(db,
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 1000000) INSERT INTO slice SELECT 1000000000 + i * 5000, "
          "1000 + i * 7919 % 20000, i % 32, 'aten::operator' || i % 30, i % 4 "
          "FROM n");
  Execute(db, "COMMIT");
  Peer peer;
  peer.bytes_per_row =
      static_cast<double>(std::filesystem::file_size(path)) / kRows;
  const int64_t begin = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  Execute(db, "SELECT name, count(*), sum(dur) FROM slice GROUP BY name");
  peer.group_mrps =
      kRows * 1e3 /
      static_cast<double>(ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin);
  sqlite3_close(db);
  std::filesystem::remove(path);
  return peer;
}

void MeasureEncoding(const Settings& settings, const Peer& peer) {
  const TrainingTrace trace(settings.encode_events);
  const std::string path = settings.directory + "/encode.sonde";
  std::vector<double> rates;
  for (int round = 0; round < settings.rounds; ++round) {
    auto writer = NewTrace(path);
    const int64_t begin = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    trace.WriteTo(*writer);
    const Status closed = writer->Close();
    const int64_t took = ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (!closed.ok()) std::exit(1);
    rates.push_back(static_cast<double>(trace.events()) * 1e3 /
                    static_cast<double>(took));
  }
  const double bytes = static_cast<double>(std::filesystem::file_size(path));
  Report("trace_bytes_per_event", bytes / static_cast<double>(trace.events()),
         "bytes", 5.2, true,
         fmt::format("\"sqlite\":{:.3g}", peer.bytes_per_row));
  Report("trace_encode_meps", Median(rates), "M events/s", 20, false, "");
  std::filesystem::remove(path);
}

void MakeLargeTrace(const Settings& settings, const std::string& path) {
  const uint64_t once = std::min<uint64_t>(settings.events, 5'000'000);
  const TrainingTrace trace(once);
  const std::string unfinished = path + ".part";
  auto writer = NewTrace(unfinished);
  trace.WriteTo(*writer,
                static_cast<uint32_t>((settings.events + once - 1) / once));
  if (!writer->Close().ok()) std::exit(1);
  std::filesystem::rename(unfinished, path);
}

// The large trace, made once and kept. Another process makes it: what a child
// of ours is said to need starts with what we have needed ourselves.
std::string LargeTrace(const Settings& settings) {
  const std::string path =
      fmt::format("{}/training-{}.sonde", settings.directory, settings.events);
  if (::access(path.c_str(), R_OK) == 0) return path;
  const pid_t child = ::fork();
  if (child == 0) {
    MakeLargeTrace(settings, path);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
  return path;
}

struct Run {
  double wall_ms = 0;
  double rss_mb = 0;
};

// `sonde query PATH SQL` in a process of its own, output thrown away.
Run RunQuery(const Settings& settings, const std::string& path,
             const char* sql) {
  const int64_t begin = NowNs();
  const pid_t child = ::vfork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(null, 1);
    ::execl(settings.sonde.c_str(), "sonde", "query", path.c_str(), sql,
            nullptr);
    ::_exit(127);
  }
  int status = 0;
  struct rusage usage;
  ::wait4(child, &status, 0, &usage);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "%s query failed\n", settings.sonde.c_str());
    std::exit(1);
  }
  return {static_cast<double>(NowNs() - begin) / 1e6,
          static_cast<double>(usage.ru_maxrss) / 1024};
}

void DropCache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ::fdatasync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

class CountRows : public RowSink {
 public:
  void Columns(const std::vector<std::string>&) override {}
  bool Row(std::span<const SqlValue>) override { return ++rows > 0; }
  int rows = 0;
};

void MeasureGroupBy(const std::string& path, const Peer& peer) {
  auto store = Store::Open(path);
  if (!store.ok()) std::exit(1);
  auto database = Database::Open(store.value());
  if (!database.ok()) std::exit(1);
  uint64_t slices = 0;
  for (const FrameRef& chunk : store.value()->event_chunks())
    slices += chunk.events.count;
  CountRows sink;
  const int64_t begin = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  const auto summary = database.value()->Query(
      "SELECT name, count(*), sum(dur) FROM slice GROUP BY name",
      {int64_t{600} * kNsPerSec, 1000}, sink);
  const int64_t took = ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin;
  if (!summary.ok() || sink.rows == 0) std::exit(1);
  Report("groupby_mrps",
         static_cast<double>(slices) * 1e3 / static_cast<double>(took),
         "M rows/s", 5, false,
         fmt::format("\"sqlite_table\":{:.3g}", peer.group_mrps));
}

void MeasureOpening(const Settings& settings, const std::string& path) {
  std::vector<double> open_ms, first_ms, rss_mb;
  for (int round = 0; round < 9; ++round)
    open_ms.push_back(RunQuery(settings, path, "SELECT 1").wall_ms);
  for (int round = 0; round < 5; ++round) {
    DropCache(path);
    const Run run =
        RunQuery(settings, path, "SELECT * FROM top_ops() LIMIT 10");
    first_ms.push_back(run.wall_ms);
    rss_mb.push_back(run.rss_mb);
  }
  Report("open_100m_ms", Median(open_ms), "ms", 50, true, "");
  Report("open_100m_rss_mb", Median(rss_mb), "MB", 64, true, "");
  Report("first_query_ms", Median(first_ms), "ms", 100, true, "");
}

int Main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> bars;
  std::error_code ignored;
  const auto self = std::filesystem::canonical("/proc/self/exe", ignored);
  settings.sonde = (self.parent_path() / "../../src/sonde").string();
  const char* directory = std::getenv("SONDE_BENCH_DIR");
  settings.directory = directory ? directory : self.parent_path().string();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      settings.events = 1'000'000;
      settings.encode_events = 1'000'000;
    } else if (word == "--events" && i + 1 < argc) {
      settings.events = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--sonde" && i + 1 < argc) {
      settings.sonde = argv[++i];
    } else if (word.starts_with("--") && word != "--json") {
      std::fprintf(stderr,
                   "usage: trace_bench [--quick] [--events N] [--sonde PATH] "
                   "[BAR...]\n");
      return 2;
    } else if (word != "--json") {
      bars.push_back(word);
    }
  }
  const auto wanted = [&](std::initializer_list<const char*> names) {
    return bars.empty() ||
           std::any_of(names.begin(), names.end(), [&](const char* name) {
             return std::find(bars.begin(), bars.end(), name) != bars.end();
           });
  };
  // First, while this process is small: see LargeTrace.
  if (wanted({"open_100m_ms", "open_100m_rss_mb", "first_query_ms"}))
    MeasureOpening(settings, LargeTrace(settings));
  const Peer peer = MeasureSqlite(settings.directory);
  if (wanted({"groupby_mrps"})) MeasureGroupBy(LargeTrace(settings), peer);
  if (wanted({"trace_bytes_per_event", "trace_encode_meps"}))
    MeasureEncoding(settings, peer);
  return all_ok ? 0 : 1;
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) { return sonde::Main(argc, argv); }
