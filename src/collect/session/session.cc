// The life of a recording. Everything that can refuse comes before the fork, or
// before the gate opens; after that the command is on its own, and a failure
// only ends the recording.
//
//     signals blocked -> trace -> session directory -> fork (at the gate)
//       -> tree, gatherers, socket -> gate opens -> loop -> wait -> trace
//       closed

#include "collect/session/session.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/time.h"
#include "collect/session/launcher.h"
#include "collect/session/session_dir.h"
#include "collect/session/session_loop.h"
#include "collect/session/signals.h"
#include "collect/session/stop_file.h"
#include "trace/journal.h"

namespace sonde {
namespace {

Result<std::unique_ptr<TraceWriter>> OpenTrace(const SessionOptions& options) {
  FileHeader header;
  if (::getrandom(header.session.data(), header.session.size(), 0) < 0)
    return ErrnoError("getrandom", errno);
  header.realtime_ns = ClockNs(CLOCK_REALTIME);
  header.monotonic_ns = NowNs();
  TraceWriter::Options trace;
  trace.max_bytes = options.max_bytes;
  return TraceWriter::Create(options.trace, header, trace);
}

std::string JournalOf(const std::string& trace) { return trace + ".journal"; }

// The stop file, ready to be waited for.
Result<std::optional<StopFile>> PrepareStopFile(const SessionOptions& options) {
  const std::string& path = options.life.stop_file;
  std::optional<StopFile> out;
  if (path.empty()) return out;
  for (const std::string& ours : {options.trace, JournalOf(options.trace)})
    TRY_OK(StopFile::CheckApart(path, ours));
  bool awaited = false;
  for (const SessionInfo& other : LiveSessions())
    awaited |= other.stop_file == path;
  TRY(out, StopFile::Prepare(path, awaited));
  return out;
}

bool Exists(const std::string& path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0;
}

// For a trace; its journal is free as well.
std::string FreeName(const std::string& wanted) {
  std::string name = wanted;
  for (int n = 2; Exists(name) || Exists(JournalOf(name)); ++n)
    name = wanted + "-" + std::to_string(n);
  return name;
}

// If the command never ran, what was made for it goes away again, and an older
// trace of that name comes back, with its journal: one that was killed is not
// whole without it. Forget(): it did run.
class Undo {
 public:
  Undo(std::string trace, bool replace)
      : trace_(std::move(trace)), aside_(FreeName(trace_ + ".replaced")) {
    if (!replace) return;
    // What is not there need not be saved.
    saved_ = Move(trace_, aside_);
    saved_journal_ = IsJournal(JournalOf(trace_)) &&
                     Move(JournalOf(trace_), JournalOf(aside_));
  }
  ~Undo() {
    if (!armed_) return;
    if (made_) {
      ::unlink(trace_.c_str());
      if (IsJournal(JournalOf(trace_))) ::unlink(JournalOf(trace_).c_str());
    }
    if (saved_) Move(aside_, trace_);
    if (saved_journal_) Move(JournalOf(aside_), JournalOf(trace_));
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  void Made() { made_ = true; }
  void Forget() {
    armed_ = false;
    if (saved_) ::unlink(aside_.c_str());
    if (saved_journal_) ::unlink(JournalOf(aside_).c_str());
  }

 private:
  static bool Move(const std::string& from, const std::string& to) {
    return ::rename(from.c_str(), to.c_str()) == 0;
  }

  std::string trace_, aside_;
  bool saved_ = false, saved_journal_ = false, made_ = false, armed_ = true;
};

// Nearly all that is recorded comes from /proc.
Status CheckProc() {
  char text[32];
  const ssize_t n = ::readlink("/proc/self", text, sizeof(text) - 1);
  const bool there = Exists("/proc/version");
  if (n <= 0 && !there)
    return Error{Error::Kind::kIo,
                 "/proc is not mounted here: sonde reads there what it records",
                 "mount -t proc proc /proc; the command was not started"};
  if (n > 0) text[n] = '\0';
  if (n > 0 && std::strtol(text, nullptr, 10) == ::getpid()) return Ok();
  return Error{Error::Kind::kIo,
               "/proc is of another pid namespace than the one sonde runs in: "
               "it tells of other processes",
               "give this one its own: unshare -pf --mount-proc, or mount -t "
               "proc proc /proc; the command was not started"};
}

SessionInfo InfoOf(const SessionOptions& options) {
  SessionInfo info;
  info.command = NameOf(options.recording);
  info.trace = options.trace;
  info.stop_file = options.life.stop_file;
  return info;
}

// Records a command that it starts, or (`launches` is false) what runs already.
Result<SessionResult> Record(const SessionOptions& options, bool launches) {
  TRY_OK(CheckProc());
  TRY(const Signals signals, Signals::Block());
  TRY(auto stop_file, PrepareStopFile(options));
  Undo undo(options.trace, options.replace);
  TRY(auto trace, OpenTrace(options));
  undo.Made();
  TRY(SessionDir dir, SessionDir::Create(InfoOf(options)));
  const std::vector<std::string> left = dir.left();
  std::optional<Launcher> launcher;
  if (launches) {
    TRY(Launcher forked, Launcher::Fork(options.recording.command, dir.path(),
                                        signals.original_mask()));
    launcher.emplace(std::move(forked));
  }
  KeepZombies();
  // More processes than the usual soft limit of 1024 need more descriptors. The
  // command was forked before and keeps its own limit.
  RaiseFileLimit();
  const pid_t root = launcher ? launcher->pid() : 0;
  auto recording = std::make_unique<Recording>(std::move(trace), root, dir.fd(),
                                               options.recording);
  SessionLoop loop(options, std::move(recording), std::move(dir), signals, root,
                   std::move(stop_file));
  TRY_OK(loop.Start());

  SessionResult result;
  if (launcher) result.exec_error = launcher->Go();
  if (result.exec_error != 0) return result;
  undo.Forget();
  options.on_started();
  result.wait_status = loop.Run();
  for (const std::string& path : left) options.on_left(path);
  return result;
}

}  // namespace

Result<SessionResult> RunSession(const SessionOptions& options) {
  return Record(options, true);
}

Status WatchSession(const SessionOptions& options) {
  TRY_OK(Record(options, false));
  return Ok();
}

}  // namespace sonde
