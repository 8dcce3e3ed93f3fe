// A small HTTP server on the loopback interface, whose answers a test makes up: whole, cut, stalled or wrong.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

struct Request {
  std::string path;
  std::optional<int64_t> range_start;
};

struct Reply {
  int status = 200;
  std::vector<std::string> headers = {};  // "Name: value"; Content-Length is added
  std::string body = {};
  std::optional<size_t> cut_at = {};      // bytes of the body that are sent before the connection ends
  bool stall = false;                     // ... or before nothing more comes
};

// The part of a file that a request asks for.
inline Reply serve_range(const Request& request, const std::string& file) {
  if (!request.range_start) return {.body = file};
  const auto start = static_cast<size_t>(*request.range_start);
  const std::string size = std::to_string(file.size());
  if (start >= file.size()) return {.status = 416, .headers = {"Content-Range: bytes */" + size}};
  const std::string last = std::to_string(file.size() - 1);
  return {.status = 206,
          .headers = {"Content-Range: bytes " + std::to_string(start) + "-" + last + "/" + size},
          .body = file.substr(start)};
}

class HttpServer {
 public:
  using Handler = std::function<Reply(const Request&)>;

  explicit HttpServer(Handler handler) : handler_(std::move(handler)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    listen(listener_, 16);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~HttpServer() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    ended_.notify_all();
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (auto& thread : connections_) thread.join();
    close(listener_);
  }

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void accept_all() {
    for (;;) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      connections_.emplace_back([this, connection] {
        answer(connection);
        close(connection);
      });
    }
  }

  void answer(int connection) {
    std::string text;
    char buffer[4096];
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t size = recv(connection, buffer, sizeof buffer, 0);
      if (size <= 0) return;
      text.append(buffer, static_cast<size_t>(size));
    }
    Request request{text.substr(4, text.find(' ', 4) - 4), {}};
    const size_t range = text.find("Range: bytes=");
    if (range != std::string::npos) request.range_start = std::stoll(text.substr(range + 13));
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const Reply reply = handler_(request);
    std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " x\r\nConnection: close\r\n";
    for (const auto& header : reply.headers) out += header + "\r\n";
    out += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n\r\n";
    out += reply.body.substr(0, reply.cut_at.value_or(reply.body.size()));
    for (size_t sent = 0; sent < out.size();) {
      const ssize_t size = send(connection, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) return;
      sent += static_cast<size_t>(size);
    }
    std::unique_lock lock(mutex_);
    if (reply.stall) ended_.wait(lock, [this] { return ending_; });
  }

  Handler handler_;
  int listener_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::vector<Request> requests_;
  std::thread acceptor_;
  std::vector<std::thread> connections_;  // touched by the acceptor until it has ended
};
