// The captions' server over real sockets, by a client that knows no library.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "captions.h"
#include "models/error.h"
#include "src/live/outputs/server_output.h"

using namespace sotto;
using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPatience_ms = 10000;

ServerOptions loopback() { return {.address = parse_listen_address("127.0.0.1:0")}; }

class Connection {
 public:
  explicit Connection(int port, int receive_buffer = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const std::string& bytes) { ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

  // Whether there is more; false at the end or when nothing comes.
  bool receive(int patience_ms = kPatience_ms) {
    pollfd one = {socket_, POLLIN, 0};
    char bytes[65536];
    if (::poll(&one, 1, patience_ms) != 1) return false;
    const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
    if (n > 0) buffer.append(bytes, static_cast<size_t>(n));
    ended = n <= 0;
    return n > 0;
  }

  std::string heads() {
    while (buffer.find("\r\n\r\n") == buffer.npos)
      if (!receive()) return std::exchange(buffer, "");
    const size_t end = buffer.find("\r\n\r\n") + 4;
    const std::string heads = buffer.substr(0, end);
    buffer.erase(0, end);
    return heads;
  }

  // The next text message; pings and the rest are passed over.
  std::optional<json> message(int patience_ms = kPatience_ms) {
    for (;;) {
      const auto need = [&](size_t n) {
        while (buffer.size() < n)
          if (!receive(patience_ms)) return false;
        return true;
      };
      if (!need(2)) return std::nullopt;
      const auto byte = [&](size_t i) { return static_cast<unsigned char>(buffer[i]); };
      size_t length = byte(1) & 127, head = 2;
      const size_t extra = length == 126 ? 2 : length == 127 ? 8 : 0;
      if (!need(head + extra)) return std::nullopt;
      if (extra > 0) length = 0;
      for (size_t i = 0; i < extra; ++i) length = length << 8 | byte(2 + i);
      head += extra;
      if (!need(head + length)) return std::nullopt;
      const int opcode = byte(0) & 15;
      const std::string text = buffer.substr(head, length);
      buffer.erase(0, head + length);
      if (opcode == 1) return json::parse(text);
      if (opcode == 8) ended = true;
      if (opcode == 8) return std::nullopt;
    }
  }

  std::string buffer;
  bool ended = false;

 private:
  const int socket_;
};

std::string request(const std::string& path, const std::string& more, const std::string& host) {
  return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n";
}

const std::string kUpgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

int status_of(const std::string& heads) { return heads.size() > 12 ? std::atoi(heads.c_str() + 9) : 0; }

std::string host_of(const ServerOutput& server) { return "127.0.0.1:" + std::to_string(server.port()); }

struct Listener : Connection {
  explicit Listener(const ServerOutput& server, const std::string& path = "/events", const std::string& more = "",
                    int receive_buffer = 0)
      : Connection(server.port(), receive_buffer) {
    send(request(path, kUpgrade + more, host_of(server)));
    heads = Connection::heads();
  }
  std::string heads;
};

int status(const ServerOutput& server, const std::string& bytes) {
  Connection connection(server.port());
  connection.send(bytes);
  return status_of(connection.heads());
}

}  // namespace

TEST_CASE("server: a client gets the state, then each event as it comes") {
  ServerOutput server(loopback());
  CHECK(server.page_url() == "http://" + host_of(server) + "/");
  Listener client(server);
  CHECK(client.heads.starts_with("HTTP/1.1 101"));
  CHECK(client.heads.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") != std::string::npos);  // of the key, by RFC 6455
  auto state = client.message();
  REQUIRE(state);
  CHECK((*state)["event"] == "state");
  CHECK((*state)["events"].empty());
  server.update({.heard_s = 2, .behind_s = 0.5, .committed = spoken("Good morning", 1), .tail = spoken("eve", 1.8),
                 .language = "en"});
  auto committed = client.message(), partial = client.message();
  REQUIRE(partial);
  CHECK((*committed)["event"] == "committed");
  CHECK((*committed)["text"] == " Good morning");
  CHECK((*committed)["words"][1]["word"] == " morning");
  CHECK((*committed)["words"][1]["start"] == 1.4);
  CHECK((*committed)["behind"] == 0.5);
  CHECK((*partial)["event"] == "partial");
  CHECK((*partial)["text"] == " eve");

  server.level(7.5, -20, false);
  Listener late(server);
  state = late.message();
  REQUIRE(state);
  CHECK((*state)["heard"] == 7.5);
  REQUIRE((*state)["events"].size() == 2);
  CHECK((*state)["events"][0] == *committed);
  CHECK((*state)["events"][1] == *partial);

  server.update({.heard_s = 3, .committed = spoken("everyone.", 1.8), .ends_utterance = true});
  server.notice(4, "The microphone is gone.");
  for (Listener* one : {&client, &late}) {
    CHECK((*one->message())["ends_utterance"] == true);
    CHECK((*one->message())["text"] == "The microphone is gone.");
  }
  Listener third(server);
  CHECK((*third.message())["events"].size() == 2);  // both committed ones, and no tail
  server.finish();
  for (Listener* one : {&client, &late, &third}) {
    CHECK((*one->message())["event"] == "end");
    CHECK(!one->message());
    CHECK(one->ended);
  }
}

TEST_CASE("server: the state that late clients get has a bound") {
  ServerOutput server(loopback());
  for (const CaptionUpdate& update : told(lecture(200))) server.update(update);
  Listener client(server);
  const auto state = client.message();
  REQUIRE(state);
  CHECK((*state)["events"].size() <= 40);
  CHECK((*state)["events"].back()["ends_utterance"] == true);
}

TEST_CASE("server: the page, and what isn't there") {
  ServerOutput server(loopback());
  Connection browser(server.port());
  browser.send(request("/?size=40&lines=3", "", host_of(server)));
  const std::string heads = browser.heads();
  CHECK(status_of(heads) == 200);
  CHECK(heads.find("text/html") != heads.npos);
  CHECK(heads.find("default-src 'none'") != heads.npos);
  while (browser.buffer.size() < caption_page().size() && browser.receive()) {
  }
  CHECK(browser.buffer == caption_page());
  browser.buffer.clear();
  browser.send(request("/other", "", host_of(server)));  // by the same connection
  CHECK(status_of(browser.heads()) == 404);
  const std::string host = host_of(server);
  CHECK(status(server, "POST / HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 3\r\n\r\nabc") != 200);
  CHECK(status(server, "DELETE / HTTP/1.1\r\nHost: " + host + "\r\n\r\n") != 200);
  CHECK(status(server, request("/../../etc/passwd", "", host)) != 200);
  CHECK(status(server, request("/elsewhere", kUpgrade, host)) == 404);
}

TEST_CASE("server: pages from elsewhere hear nothing, under this machine's name or their own") {
  ServerOutput server(loopback());
  const std::string host = host_of(server), port = std::to_string(server.port());
  const auto with_origin = [&](const std::string& origin, const std::string& to) {
    return status(server, request("/events", kUpgrade + (origin.empty() ? "" : "Origin: " + origin + "\r\n"), to));
  };
  CHECK(with_origin("", host) == 101);
  CHECK(with_origin("http://" + host, host) == 101);
  CHECK(with_origin("http://localhost:" + port, "localhost:" + port) == 101);
  CHECK(with_origin("http://evil.example", host) == 403);
  CHECK(with_origin("http://127.0.0.1:1", host) == 403);
  CHECK(with_origin("http://" + host + ".evil.example", host) == 403);
  CHECK(with_origin("null", host) == 403);
  CHECK(with_origin("http://evil.example:" + port, "evil.example:" + port) == 403);  // DNS rebinding
  CHECK(status(server, request("/", "", "evil.example:" + port)) == 403);
  CHECK(status(server, "GET / HTTP/1.0\r\n\r\n") == 403);
}

TEST_CASE("server: beyond this machine, and wherever one is set, nobody hears anything without the token") {
  ServerOutput server({.address = parse_listen_address("0.0.0.0:0")});
  const std::string url = server.page_url(), token = url.substr(url.find("?token=") + 7), host = "studio.local:80";
  CHECK(token.size() == 32);
  CHECK(status(server, request("/", "", host)) == 401);
  CHECK(status(server, request("/?token=", "", host)) == 401);
  CHECK(status(server, request("/?token=" + token.substr(1), "", host)) == 401);
  CHECK(status(server, request("/?token=" + token + "0", "", host)) == 401);
  CHECK(status(server, request("/?size=30&token=" + token, "", host)) == 200);
  CHECK(status(server, request("/events", kUpgrade, host)) == 401);
  CHECK(status(server, request("/events?token=0" + token.substr(1) + "x", kUpgrade, host)) == 401);
  CHECK(status(server, request("/events?token=" + token, kUpgrade, host)) == 101);
  CHECK(status(server, request("/events?token=" + token, kUpgrade + "Origin: http://evil.example\r\n", host)) == 403);
  CHECK(status(server, request("/events?token=" + token, kUpgrade + "Origin: https://" + host + "\r\n", host)) == 101);

  ServerOutput other({.address = parse_listen_address("0.0.0.0:0")});
  CHECK(other.page_url().substr(other.page_url().find('?')) != url.substr(url.find('?')));
  ServerOutput own({.address = parse_listen_address("127.0.0.1:0"), .token = "letters-and-digits_123"});
  CHECK(status(own, request("/events", kUpgrade, host_of(own))) == 401);
  CHECK(status(own, request("/events?token=letters-and-digits_123", kUpgrade, host_of(own))) == 101);
  CHECK_THROWS_AS(ServerOutput({.address = parse_listen_address("0"), .token = "short"}), Error);
  CHECK_THROWS_AS(ServerOutput({.address = parse_listen_address("0"), .token = "with spaces and more"}), Error);
}

TEST_CASE("server: requests too large, garbage, half a request and chatter end the connection, and nothing else") {
  ServerOutput server(loopback());
  const std::string host = host_of(server);
  Listener good(server);
  REQUIRE(good.message());
  const auto refused = [&](const std::string& bytes) {
    Connection connection(server.port());
    connection.send(bytes);
    while (connection.receive()) {
    }
    return connection.ended && connection.buffer.find("200 OK") == std::string::npos;
  };
  CHECK(refused(request("/", "X-Long: " + std::string(1 << 20, 'x') + "\r\n", host)));
  CHECK(refused(request("/" + std::string(1 << 16, 'a'), "", host)));
  CHECK(refused(std::string(100000, '\xff')));
  CHECK(refused("GET / HTTP/1.1\r\nHost: "));  // and then nothing
  Listener chatter(server);
  REQUIRE(chatter.message());
  std::string frame = {'\x81', '\xfe', '\x03', '\xe8', 0, 0, 0, 0};  // 1000 bytes of text, masked with 0
  frame += std::string(1000, 'x');
  for (int i = 0; i < 10; ++i) chatter.send(frame);
  CHECK(!chatter.message());
  CHECK(chatter.ended);
  server.update({.committed = spoken("still here", 1)});
  CHECK((*good.message())["text"] == " still here");
}

TEST_CASE("server: a client that doesn't read is dropped; nobody waits for it") {
  ServerOutput server(loopback());
  Listener deaf(server, "/events", "", 4096);
  std::vector<std::unique_ptr<Listener>> clients;
  for (int i = 0; i < 10; ++i) REQUIRE(clients.emplace_back(std::make_unique<Listener>(server))->message());
  const std::vector<Word> words = spoken(lecture(1)[0] + lecture(5)[4], 1);
  double longest_s = 0;
  constexpr int kUpdates = 400;
  for (int i = 0; i < kUpdates; ++i) {
    const auto start = Clock::now();
    server.update({.heard_s = 1.0 * i, .committed = words, .ends_utterance = true});
    longest_s = std::max(longest_s, std::chrono::duration<double>(Clock::now() - start).count());
    for (const auto& client : clients) {
      const auto event = client->message();
      REQUIRE(event);
      REQUIRE((*event)["heard"] == 1.0 * i);
    }
  }
  CHECK(longest_s < 1);
  int n = 0;
  while (deaf.message(1000)) ++n;
  CHECK(deaf.ended);
  CHECK(n < kUpdates);
  REQUIRE(std::make_unique<Listener>(server)->message());
}

TEST_CASE("server: clients come and go, up to a bound") {
  ServerOutput server(loopback());
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<Listener>> clients;
    for (int i = 0; i < ServerOutput::kMaxClients; ++i) {
      clients.push_back(std::make_unique<Listener>(server));
      REQUIRE(status_of(clients.back()->heads) == 101);
      REQUIRE(clients.back()->message());
    }
    CHECK(status_of(Listener(server).heads) == 503);
    clients.clear();
    const auto until = Clock::now() + std::chrono::seconds(5);
    while (status_of(Listener(server).heads) != 101 && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(status_of(Listener(server).heads) == 101);
}

TEST_CASE("server: a port that is taken is told, and addresses are read as they are written") {
  ServerOutput server(loopback());
  try {
    ServerOutput second({.address = parse_listen_address(host_of(server))});
    FAIL("two servers listen at one port");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(std::to_string(server.port())) != std::string::npos);
  }
  CHECK(parse_listen_address("8765").ip == "127.0.0.1");
  CHECK(parse_listen_address("localhost:8765").loopback);
  CHECK(parse_listen_address("[::1]:80").ipv6);
  CHECK(parse_listen_address("[::1]:80").loopback);
  CHECK(!parse_listen_address("0.0.0.0:80").loopback);
  CHECK(!parse_listen_address("[::]:80").loopback);
  CHECK(!parse_listen_address("192.168.1.2:80").loopback);
  for (const char* wrong : {"", "x", "127.0.0.1", "1.2.3:4", "::1:80", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x",
                            "example.org:80", "[::1]", "[127.0.0.1]:80"})
    CHECK_THROWS_AS(parse_listen_address(wrong), Error);
}
