#ifndef SONDE_COLLECT_SESSION_SESSION_DIR_H_
#define SONDE_COLLECT_SESSION_SESSION_DIR_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// What a running session says of itself to others.
struct SessionInfo {
  std::string dir;
  pid_t pid = 0;          // of the collector
  std::string command;    // the command's words, for people
  std::string trace;      // absolute path
  std::string stop_file;  // absolute path; "" if it waits for none
};

// The words of a command as one line for people, cut if it is long.
std::string CommandText(const std::vector<std::string>& command);

// The directory by which a recording is found: its control socket lies there
// and SONDE_SESSION names it.
//
//  - Mode 0700, named sonde-<uid>-<random>; in $XDG_RUNTIME_DIR, else in
//    /dev/shm if there is room, else beside the trace; a file in one of the
//    first two then says where.
//  - It is alive exactly as long as its maker: a file in it is locked, and the
//    kernel unlocks it at any kind of death.
//  - Goes away with this object, unless there is in it what sonde did not make:
//    that stays. What a killed session left behind is removed by the next
//    Create(); if there are records in it that can be recovered, only after a
//    day. A directory is a session by its whole name, its owner and mode, and
//    what its lock says; others are not touched.
class SessionDir {
 public:
  // `info.dir` is filled in here.
  static Result<SessionDir> Create(SessionInfo info);
  // Of a session whose maker is dead.
  static Result<SessionDir> TakeOver(const std::string& path);
  SessionDir(SessionDir&& other) noexcept = default;
  SessionDir& operator=(SessionDir&&) = delete;
  ~SessionDir() { Remove(); }

  const std::string& path() const { return path_; }
  int fd() const { return dir_.get(); }
  // At once, instead of at the end. False: it stays, with what is not ours.
  bool Remove();
  // Dead ones that stay, for the same reason, as Create() has just seen.
  const std::vector<std::string>& left() const { return left_; }
  // The directory stays, for another process to take over.
  void Keep();

 private:
  SessionDir(std::string path, Fd dir, Fd lock)
      : path_(std::move(path)), dir_(std::move(dir)), lock_(std::move(lock)) {}

  std::string path_;
  Fd dir_;
  Fd lock_;
  std::vector<std::string> left_;
};

// The session at `dir`, if it is one of this user and alive.
Result<SessionInfo> FindSession(const std::string& dir);

// Every live session of this user that lies where sessions are looked for.
std::vector<SessionInfo> LiveSessions();
// Sessions whose collector was killed; also one beside the trace `trace`, if
// that is not empty.
std::vector<SessionInfo> DeadSessions(const std::string& trace);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_SESSION_DIR_H_
