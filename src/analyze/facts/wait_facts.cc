#include "analyze/facts/wait_facts.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace sonde {
namespace {

struct CallKind {
  std::string_view call;
  WaitKind kind;
};
constexpr CallKind kCallKinds[] = {
    {"futex", WaitKind::kLock},
    {"read", WaitKind::kFile},
    {"readv", WaitKind::kFile},
    {"pread64", WaitKind::kFile},
    {"preadv", WaitKind::kFile},
    {"write", WaitKind::kFile},
    {"writev", WaitKind::kFile},
    {"pwrite64", WaitKind::kFile},
    {"open", WaitKind::kFile},
    {"openat", WaitKind::kFile},
    {"stat", WaitKind::kFile},
    {"flock", WaitKind::kFile},
    {"fcntl", WaitKind::kFile},
    {"sendfile", WaitKind::kFile},
    {"copy_file_range", WaitKind::kFile},
    {"fsync", WaitKind::kDisk},
    {"fdatasync", WaitKind::kDisk},
    {"msync", WaitKind::kDisk},
    {"sync_file_range", WaitKind::kDisk},
    {"recvfrom", WaitKind::kSocket},
    {"recvmsg", WaitKind::kSocket},
    {"recvmmsg", WaitKind::kSocket},
    {"sendto", WaitKind::kSocket},
    {"sendmsg", WaitKind::kSocket},
    {"connect", WaitKind::kSocket},
    {"accept", WaitKind::kEvent},
    {"accept4", WaitKind::kEvent},
    {"nanosleep", WaitKind::kSleep},
    {"clock_nanosleep", WaitKind::kSleep},
    {"wait4", WaitKind::kChild},
    {"waitid", WaitKind::kChild},
    {"vfork", WaitKind::kChild},
    {"poll", WaitKind::kEvent},
    {"ppoll", WaitKind::kEvent},
    {"select", WaitKind::kEvent},
    {"pselect6", WaitKind::kEvent},
    {"epoll_wait", WaitKind::kEvent},
    {"epoll_pwait", WaitKind::kEvent},
    {"io_uring_enter", WaitKind::kEvent},
};

struct KindWords {
  WaitKind kind;
  const char* name;
  std::string_view phrase;
};
constexpr KindWords kWords[] = {
    {WaitKind::kOther, "other", "in the kernel"},
    {WaitKind::kLock, "lock", "for a lock or another thread"},
    {WaitKind::kQueue, "queue", "for a queue"},
    {WaitKind::kThread, "thread", "for another thread to end"},
    {WaitKind::kSocket, "socket", "for the other end of a socket"},
    {WaitKind::kSleep, "sleep", "for a time to pass"},
    {WaitKind::kChild, "child", "for a process it started"},
    {WaitKind::kFile, "file", "for a file or a pipe"},
    {WaitKind::kDisk, "disk", "until data was on the disk"},
    {WaitKind::kEvent, "event", "for an event"},
};
const KindWords& WordsOf(WaitKind kind) {
  const auto* const at =
      std::find_if(std::begin(kWords), std::end(kWords),
                   [&](const KindWords& words) { return words.kind == kind; });
  return at == std::end(kWords) ? kWords[0] : *at;
}

// A queue, a join and a lock are one system call: functions of the library
// tell.
WaitKind KindOfLibrary(const Function& function) {
  const std::string_view file = function.file;
  for (const std::string_view one :
       {"/queue.py", "/multiprocessing/queues.py", "/asyncio/queues.py",
        "/multiprocessing/connection.py"})
    if (file.ends_with(one)) return WaitKind::kQueue;
  if (file.ends_with("/subprocess.py") || file.ends_with("/popen_fork.py"))
    return WaitKind::kChild;
  const auto says = [&](std::string_view word) {
    return function.name.find(word) != std::string::npos;
  };
  if ((file.ends_with("/threading.py") &&
       (says("join") || says("_wait_for_tstate_lock"))) ||
      (file.ends_with("/concurrent/futures/_base.py") && says("result")))
    return WaitKind::kThread;
  return WaitKind::kOther;
}

}  // namespace

bool IsLibrary(std::string_view file) {
  return file.find("/site-packages/") != std::string_view::npos ||
         file.find("/dist-packages/") != std::string_view::npos ||
         file.find("/lib/python3") != std::string_view::npos ||
         file.starts_with("<frozen ");
}

namespace {

std::string_view LastPart(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// What every program waits through: its name says less than that of its caller.
bool IsOfTheSystem(const Function& function) {
  const std::string_view name = LastPart(function.module);
  return function.language == "native" &&
         (name.starts_with("libc.") || name.starts_with("libc-") ||
          name.starts_with("libpthread") || name.starts_with("ld-") ||
          name.starts_with("[vdso]"));
}

// Of Python what was not installed; of native code what is no shared library of
// the system's or of a package, and no interpreter of Python.
bool IsOwn(const Function& function) {
  if (function.language == "python") return !IsLibrary(function.file);
  const std::string_view module = function.module;
  return function.language == "native" &&
         module.find("/lib/") == std::string_view::npos &&
         module.find("/lib64/") == std::string_view::npos &&
         !module.starts_with("[") && !IsLibrary(module) &&
         !LastPart(module).starts_with("python") &&
         !LastPart(module).starts_with("libpython");
}

}  // namespace

const char* NameOf(WaitKind kind) { return WordsOf(kind).name; }
std::string_view PhraseOf(WaitKind kind) { return WordsOf(kind).phrase; }

std::string CallLine(const CodeLine& at) {
  return Printable(CallPlace({at.function, at.file, "", ""}, at.line), 120);
}

std::string CallWaitPlace(const WaitFacts& wait) {
  if (!wait.own.known() && !wait.library.known())
    return wait.call.empty() ? "a place that is not known" : wait.call;
  if (!wait.own.known()) return CallLine(wait.library);
  return CallLine(wait.own) +
         (wait.library.known() ? ", in " + CallLine(wait.library) : "");
}

void WaitReader::Add(uint32_t process, uint32_t thread,
                     const std::vector<StackPlace>& places, uint64_t ns,
                     uint64_t samples) {
  Sum sum{process, thread};
  WaitKind kind = WaitKind::kOther;  // by the library
  StackPlace library, innermost;
  // Whether there are such functions, and are only those of the C library.
  bool in_library = false, in_system = true;
  bool in_python = false;
  for (const StackPlace& place : places) {
    const Function& function = names_.functions()[place.function];
    if (function.language == "kernel") {
      sum.call = place.function + 1;
      continue;
    }
    const bool python = function.language == "python";
    if (IsOwn(function)) {
      sum.own = place.function + 1;
      sum.own_line = place.line;
      // What Python's own functions call for it, the system call says better.
      if (python && in_system) in_library = false;
      break;
    }
    if (kind == WaitKind::kOther) kind = KindOfLibrary(function);
    if (in_system || (python && !in_python)) innermost = place;
    in_system = in_system && IsOfTheSystem(function);
    in_python = in_python || python;
    library = place;
    in_library = true;
  }
  if (in_library) {
    // Of a program that is a library's, the innermost says most: of Python, if
    // there is one, and else not the one that makes system calls for all.
    const StackPlace& shown = sum.own == 0 ? innermost : library;
    sum.library = shown.function + 1;
    sum.library_line = shown.line;
  }
  sum.kind = kind != WaitKind::kOther ? kind : KindOf(sum.call);
  const uint32_t key[] = {thread,           static_cast<uint32_t>(sum.kind),
                          sum.call,         sum.library,
                          sum.library_line, sum.own,
                          sum.own_line};
  Sum& all =
      sums_
          .try_emplace(
              std::string(reinterpret_cast<const char*>(key), sizeof(key)), sum)
          .first->second;
  all.ns += ns;
  all.samples += samples;
}

CodeLine WaitReader::LineOf(uint32_t function, uint32_t line) const {
  if (function == 0) return {};
  const Function& known = names_.functions()[function - 1];
  return {known.name, std::string(known.file), line};
}

WaitKind WaitReader::KindOf(uint32_t call) const {
  if (call == 0) return WaitKind::kOther;
  for (const CallKind& one : kCallKinds)
    if (names_.functions()[call - 1].name == one.call) return one.kind;
  return WaitKind::kOther;
}

std::vector<WaitFacts> WaitReader::Take() const {
  std::vector<const Sum*> sums;
  sums.reserve(sums_.size());
  for (const auto& [key, sum] : sums_) sums.push_back(&sum);
  std::sort(sums.begin(), sums.end(), [](const Sum* a, const Sum* b) {
    return std::tie(b->ns, a->thread, a->library, a->library_line, a->call,
                    a->own, a->own_line, a->kind) <
           std::tie(a->ns, b->thread, b->library, b->library_line, b->call,
                    b->own, b->own_line, b->kind);
  });
  if (sums.size() > kMost) sums.resize(kMost);
  std::vector<WaitFacts> out;
  for (const Sum* const sum : sums) {
    WaitFacts wait;
    wait.process = sum->process;
    wait.thread = sum->thread;
    wait.kind = sum->kind;
    if (sum->call != 0) wait.call = names_.functions()[sum->call - 1].name;
    wait.own = LineOf(sum->own, sum->own_line);
    wait.library = LineOf(sum->library, sum->library_line);
    wait.ns = sum->ns;
    wait.samples = sum->samples;
    out.push_back(std::move(wait));
  }
  return out;
}

}  // namespace sonde
