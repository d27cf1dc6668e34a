#include "collect/session/control.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace sonde {
namespace {

constexpr char kSocket[] = "ctl";
constexpr int kAnswerSeconds = 10;
// A status names a command line, which may be long.
constexpr size_t kMaxAnswer = 1 << 20;

// The address of the socket in an open directory. A path of its own could be
// longer than the 107 bytes an address holds.
sockaddr_un Address(int dir) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path),
                "/proc/self/fd/%d/%s", dir, kSocket);
  return address;
}

bool OfThisUser(int socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::getuid() || peer.uid == 0);
}

Fd OpenSpare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

Result<ControlServer> ControlServer::Listen(int dir, int epoll,
                                            Handler handler) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return ErrnoError("control socket", errno);
  const sockaddr_un address = Address(dir);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = socket.get();
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)) != 0 ||
      ::listen(socket.get(), kMaxClients) != 0 ||
      ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket.get(), &event) != 0)
    return ErrnoError("control socket", errno);
  return ControlServer(std::move(socket), OpenSpare(), epoll,
                       std::move(handler));
}

bool ControlServer::Serve(int fd) {
  if (fd == socket_.get()) {
    Accept();
    return true;
  }
  const auto at = clients_.find(fd);
  if (at == clients_.end()) return false;
  Client& client = at->second;
  char buffer[4096];
  const ssize_t n = ::recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (n == -1 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n > 0) client.in.append(buffer, static_cast<size_t>(n));
  const size_t end = client.in.find('\n');
  if (n > 0 && end == std::string::npos && client.in.size() < kMaxRequest)
    return true;
  std::string answer;
  if (end != std::string::npos && end < kMaxRequest)
    answer = handler_(std::string_view(client.in).substr(0, end));
  else if (client.in.size() >= kMaxRequest)
    answer = "error the request is longer than 64 KiB";
  if (!answer.empty()) {
    answer += '\n';
    // A peer that does not read its answer has lost it.
    ::send(fd, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  clients_.erase(fd);  // closing takes it out of the epoll set
  return true;
}

void ControlServer::Accept() {
  Fd fd(
      ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid() && (errno == EMFILE || errno == ENFILE) && spare_.valid()) {
    // One that cannot be taken would wake us again and again: hang up on it.
    spare_.Reset();
    fd.Reset(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    fd.Reset();
    spare_ = OpenSpare();
  }
  if (!fd.valid() || !OfThisUser(fd.get())) return;
  if (clients_.size() >= kMaxClients)
    clients_.erase(std::min_element(clients_.begin(), clients_.end(),
                                    [](const auto& a, const auto& b) {
                                      return a.second.number < b.second.number;
                                    }));
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = fd.get();
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd.get(), &event) != 0) return;
  const int number = fd.get();
  clients_[number] = Client{std::move(fd), "", accepted_++};
}

Result<std::string> AskSession(const std::string& path, std::string request) {
  std::replace(request.begin(), request.end(), '\n', ' ');
  request += '\n';
  if (request.size() > ControlServer::kMaxRequest)
    return Error{Error::Kind::kUsage, "the text is longer than 64 KiB"};
  const Fd dir(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid()) return ErrnoError(path, errno);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience = {kAnswerSeconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience,
               sizeof(patience));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience,
               sizeof(patience));
  const sockaddr_un address = Address(dir.get());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0)
    return ErrnoError(path, errno);
  std::string_view rest = request;
  while (!rest.empty()) {
    const ssize_t n =
        ::send(socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n == -1 && errno == EINTR) continue;
    if (n == -1) break;  // refused half-way: its answer says why
    rest.remove_prefix(static_cast<size_t>(n));
  }
  std::string answer;
  while (answer.find('\n') == std::string::npos) {
    char buffer[4096];
    const ssize_t n = ::recv(socket.get(), buffer, sizeof(buffer), 0);
    if (n == -1 && errno == EINTR) continue;
    if (n == -1)
      return Error{Error::Kind::kIo, path + ": the session does not answer",
                   "is its collector stopped? `kill -CONT` its process"};
    if (n == 0) break;
    answer.append(buffer, static_cast<size_t>(n));
    if (answer.size() > kMaxAnswer) break;
  }
  answer.resize(std::min(answer.size(), answer.find('\n')));
  if (answer == "ok") return std::string();
  if (answer.starts_with("ok ")) return answer.substr(3);
  if (answer.starts_with("error "))
    return Error{Error::Kind::kIo, answer.substr(6)};
  return Error{Error::Kind::kIo, path + ": the session ended"};
}

}  // namespace sonde
