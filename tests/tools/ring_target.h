// Runs a function as a target: in a child of its own, with the recorder linked
// in, while this process drains what it records.

#ifndef SONDE_TESTS_TOOLS_RING_TARGET_H_
#define SONDE_TESTS_TOOLS_RING_TARGET_H_

#include <sys/wait.h>

#include <functional>

#include "sdk/writer.h"
#include "tools/ring_session.h"

namespace sonde {

// Starts it and does not wait.
inline pid_t StartTarget(const RingSession& session,
                         const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  guest::Start(session.path.c_str());
  body();
  ::_exit(0);
}

// Drains until the child is dead and nothing is left. Its wait status.
inline int DrainTarget(RingSession& session, pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    session.Find();
    session.Drain();
    ::usleep(200);
  }
  session.Finish();
  return status;
}

inline int RunTarget(RingSession& session, const std::function<void()>& body) {
  return DrainTarget(session, StartTarget(session, body));
}

// The names of the only ring, for tests that have one.
inline std::string NameIn(const RingSession& session, uint32_t id) {
  for (const auto& [path, one] : session.rings)
    if (const auto name = one->reader.Name(id)) {
      if (name->kind == NameKind::kText) return name->text;
      if (const auto text = one->reader.Name(name->name)) return text->text;
    }
  return "";
}

}  // namespace sonde

#endif  // SONDE_TESTS_TOOLS_RING_TARGET_H_
