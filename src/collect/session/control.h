// How a running session is spoken to: one line each way over a Unix socket in
// the session's directory.
//
//     request := verb [" " text] "\n"      verb: pause resume mark stop status
//     answer  := ("ok" | "error") [" " text] "\n"

#ifndef SONDE_COLLECT_SESSION_CONTROL_H_
#define SONDE_COLLECT_SESSION_CONTROL_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// The session's end. Never waits for anybody.
//
//  - Hears only processes of this user and root.
//  - A request of more than kMaxRequest bytes is refused; at most kMaxClients
//    are heard at a time, then the oldest has to go.
//
// One thread. Does not own the epoll descriptor.
class ControlServer {
 public:
  static constexpr size_t kMaxRequest = 64 << 10;
  static constexpr size_t kMaxClients = 16;

  // Answers one request, without the line end.
  using Handler = std::function<std::string(std::string_view request)>;

  // Listens in the directory `dir` and puts its descriptors into `epoll`, with
  // the descriptor itself as data.fd.
  static Result<ControlServer> Listen(int dir, int epoll, Handler handler);

  // If `fd` is one of ours, serves it and returns true.
  bool Serve(int fd);

 private:
  struct Client {
    Fd fd;
    std::string in;
    uint64_t number = 0;  // grows: the smallest is the oldest
  };

  ControlServer(Fd socket, Fd spare, int epoll, Handler handler)
      : socket_(std::move(socket)),
        spare_(std::move(spare)),
        epoll_(epoll),
        handler_(std::move(handler)) {}
  void Accept();

  Fd socket_;
  Fd spare_;  // given up to take in one more when there are no descriptors
  int epoll_;
  Handler handler_;
  std::map<int, Client> clients_;
  uint64_t accepted_ = 0;
};

// The other end: asks the session in `dir`, waits for its answer (seconds, if
// the session is stopped), and returns the text behind "ok". A line end in
// `request` becomes a space.
Result<std::string> AskSession(const std::string& dir, std::string request);

}  // namespace sonde

#endif  // SONDE_COLLECT_SESSION_CONTROL_H_
