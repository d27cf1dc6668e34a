#ifndef SONDE_COLLECT_SESSION_STOP_FILE_H_
#define SONDE_COLLECT_SESSION_STOP_FILE_H_

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace sonde {

// A file whose appearance ends a recording: so a step after a job tells the
// recorder that was started before the job.
//
//  - A file left over from an earlier recording is removed at the start, unless
//    it is no regular file or has more in it than a word: then it is something
//    else, and refused. A file that another live recording waits for stays, and
//    does not end this recording: only a newer file does.
//  - sonde never makes the file, and does not remove it when it has appeared:
//    several recordings may wait for the same file.
class StopFile {
 public:
  // Refuses a stop file at `path` that is one of the recording's own files, by
  // whatever links and spelling: making that would end the recording.
  static Status CheckApart(const std::string& path, const std::string& ours);

  // `awaited`: another live recording waits for it.
  static Result<StopFile> Prepare(std::string path, bool awaited);

  // One system call.
  bool Appeared() const;

 private:
  explicit StopFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<struct stat> old_;  // was there before us, for another
};

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_STOP_FILE_H_
