#include "src/live/outputs/server_output.h"

#include <libwebsockets.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "models/error.h"
#include "src/live/outputs/events.h"

extern "C" const char sotto_caption_page[], sotto_caption_page_end[];

namespace sotto {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxHeads = 4096;        // bytes of a request
constexpr size_t kMaxReceived = 4096;     // bytes that a client may send: there is nothing to tell the server
constexpr int kSendBuffer = 64 * 1024;    // bytes that the system holds for a client
constexpr size_t kStateEvents = 40, kStateBytes = 64 * 1024;  // committed events that late clients get, the last ones
constexpr auto kGoodbye = std::chrono::seconds(1);
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self' ws: wss:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// An event with room before it for the frame's head, shared by all who have yet to get it.
class Message {
 public:
  explicit Message(std::string_view text) : bytes_(LWS_PRE + text.size()) {
    std::ranges::copy(text, bytes_.begin() + LWS_PRE);
  }
  unsigned char* text() { return bytes_.data() + LWS_PRE; }
  size_t size() const { return bytes_.size() - LWS_PRE; }

 private:
  std::vector<unsigned char> bytes_;
};

struct Client {
  lws* connection = nullptr;
  std::deque<std::shared_ptr<Message>> queue;
  size_t waiting = 0, received = 0;  // bytes
  bool dropped = false;
};

}  // namespace

// All but the inbox belongs to the thread, once it runs.
class ServerOutput::Server {
 public:
  explicit Server(const ServerOptions& options) : address_(options.address), token_(options.token) {
    if (!token_.empty()) check_token(token_);
    else if (!address_.loopback) token_ = new_token();
    lws_set_log_level(0, nullptr);
    lws_context_creation_info info = {};
    info.port = address_.port;
    info.iface = address_.ip.c_str();
    info.protocols = protocols_;
    info.user = this;
    info.options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                   (address_.ipv6 ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6);
    info.gid = static_cast<gid_t>(-1);
    info.uid = static_cast<uid_t>(-1);
    info.max_http_header_data = kMaxHeads;
    info.max_http_header_pool = 64;
    info.fd_limit_per_thread = 2 * kMaxClients + 64;
    info.timeout_secs = 5;
    info.timeout_secs_ah_idle = 5;  // for the rest of a request
    info.retry_and_idle_policy = &idle_policy_;
    context_ = lws_create_context(&info);
    lws_vhost* host = context_ ? lws_create_vhost(context_, &info) : nullptr;
    if (!host) {
      if (context_) lws_context_destroy(context_);
      throw Error("cannot serve captions at " + address_.ip + " port " + std::to_string(address_.port) +
                  ": another program has the port, or the address is not this machine's");
    }
    address_.port = lws_get_vhost_listen_port(host);
    thread_ = std::thread([this] { run(); });
  }

  ~Server() { end(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const ListenAddress& address() const { return address_; }
  const std::string& token() const { return token_; }

  void push(std::vector<Event> events, double heard_s) {
    {
      const std::lock_guard lock(mutex_);
      inbox_heard_s_ = std::max(inbox_heard_s_, heard_s);
      if (events.empty()) return;
      for (auto& event : events) inbox_.push_back(std::move(event));
    }
    lws_cancel_service(context_);
  }

  void end() {
    if (!thread_.joinable()) return;
    ended_ = true;
    lws_cancel_service(context_);
    thread_.join();
    lws_context_destroy(context_);
  }

 private:
  void run() {
    while (!ended_) lws_service(context_, 0);
    const auto until = Clock::now() + kGoodbye;
    take_inbox();
    const auto waits = [](const Client& client) { return !client.queue.empty() && !client.dropped; };
    while (std::ranges::any_of(clients_, waits) && Clock::now() < until) {
      lws_cancel_service(context_);  // it would sleep while a client doesn't read
      lws_service(context_, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  void take_inbox() {
    std::vector<Event> events;
    {
      const std::lock_guard lock(mutex_);
      events = std::exchange(inbox_, {});
      heard_s_ = inbox_heard_s_;
    }
    for (auto& [kind, json] : events) {
      const auto message = std::make_shared<Message>(json);
      for (Client& client : clients_) send(client, message);
      if (kind == Event::Kind::partial) {
        tail_ = std::move(json);
      } else if (kind == Event::Kind::committed) {
        tail_.clear();
        state_bytes_ += json.size();
        state_.push_back(std::move(json));
      }
      while (state_.size() > kStateEvents || state_bytes_ > kStateBytes) {
        state_bytes_ -= state_.front().size();
        state_.pop_front();
      }
    }
  }

  void send(Client& client, std::shared_ptr<Message> message) {
    if (client.dropped) return;
    client.waiting += message->size();
    client.queue.push_back(std::move(message));
    if (client.waiting > kMaxWaiting) {
      client.dropped = true;
      client.queue.clear();
      lws_set_timeout(client.connection, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
    } else {
      lws_callback_on_writable(client.connection);
    }
  }

  std::string head(lws* connection, lws_token_indexes which) const {
    std::string value(static_cast<size_t>(std::max(lws_hdr_total_length(connection, which), 0)), '\0');
    if (!value.empty() && lws_hdr_copy(connection, value.data(), static_cast<int>(value.size()) + 1, which) < 0) value.clear();
    return value;
  }

  Access access(lws* connection) const {
    char token[160] = "";
    const char* given = lws_get_urlarg_by_name(connection, "token=", token, sizeof token);
    const std::string host = head(connection, WSI_TOKEN_HOST), origin = head(connection, WSI_TOKEN_ORIGIN);
    return access_of({.host = host, .origin = origin, .token = given ? given : ""}, address_, token_);
  }

  // Sends a whole answer, after which the caller has to complete the transaction. False: the connection is of no use.
  bool answer(lws* connection, int status, const char* type, std::string_view body) {
    unsigned char heads[LWS_PRE + 1536];
    unsigned char *at = heads + LWS_PRE, *const end = heads + sizeof heads;
    const auto add = [&](const char* name, std::string_view value) {
      return lws_add_http_header_by_name(connection, reinterpret_cast<const unsigned char*>(name),
                                         reinterpret_cast<const unsigned char*>(value.data()),
                                         static_cast<int>(value.size()), &at, end) != 0;
    };
    if (lws_add_http_common_headers(connection, static_cast<unsigned>(status), type, body.size(), &at, end) ||
        add("content-security-policy:", kPolicy) || add("x-content-type-options:", "nosniff") ||
        add("referrer-policy:", "no-referrer") || add("cache-control:", "no-store") ||
        lws_finalize_write_http_header(connection, heads + LWS_PRE, &at, end))
      return false;
    Message message(body);
    return lws_write(connection, message.text(), message.size(), LWS_WRITE_HTTP_FINAL) >= 0;
  }

  bool refuse(lws* connection, int status, std::string_view sentence) {
    return answer(connection, status, "text/plain; charset=utf-8", std::string(sentence) + '\n');
  }

  bool get(lws* connection, std::string_view path) {
    const Access access = this->access(connection);
    if (access != Access::granted) return refuse(connection, status_of(access), sentence_of(access));
    if (lws_hdr_total_length(connection, WSI_TOKEN_GET_URI) <= 0)
      return refuse(connection, 405, "There is nothing here to send anything to.");
    if (path != "/") return refuse(connection, 404, "Captions are shown at / and told by a WebSocket at /events.");
    return answer(connection, 200, "text/html; charset=utf-8", caption_page());
  }

  // Before a WebSocket begins: 0 lets it, 1 has answered, -1 ends the connection.
  int admit(lws* connection, std::string_view protocol) {
    const Access access = this->access(connection);
    std::string_view why = sentence_of(access);
    int status = status_of(access);
    if (access == Access::granted && head(connection, WSI_TOKEN_GET_URI) != "/events")
      status = 404, why = "Captions are told by a WebSocket at /events.";
    else if (access == Access::granted && std::ssize(clients_) >= kMaxClients)
      status = 503, why = "There are too many clients.";
    if (protocol != "websocket") return -1;
    if (status == 200) return 0;
    return refuse(connection, status, why) ? 1 : -1;
  }

  void welcome(lws* connection, Client** client) {
    take_inbox();  // for those who were here before
    clients_.push_back({.connection = connection});
    *client = &clients_.back();
    ::setsockopt(lws_get_socket_fd(connection), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    std::vector<std::string> events(state_.begin(), state_.end());
    if (!tail_.empty()) events.push_back(tail_);
    send(**client, std::make_shared<Message>(state_event(heard_s_, events).json));
  }

  int write_next(Client& client) {
    if (client.dropped) return -1;
    if (client.queue.empty()) return 0;
    const std::shared_ptr<Message> message = client.queue.front();
    client.queue.pop_front();
    client.waiting -= message->size();
    if (lws_write(client.connection, message->text(), message->size(), LWS_WRITE_TEXT) < 0) return -1;
    if (!client.queue.empty()) lws_callback_on_writable(client.connection);
    return 0;
  }

  static int callback(lws* connection, lws_callback_reasons reason, void* session, void* in, size_t length) {
    auto* const server = static_cast<Server*>(lws_context_user(lws_get_context(connection)));
    auto* const client = static_cast<Client**>(session);
    const std::string_view text(in ? static_cast<const char*>(in) : "", in ? length : 0);
    switch (reason) {
      case LWS_CALLBACK_EVENT_WAIT_CANCELLED: server->take_inbox(); return 0;
      case LWS_CALLBACK_HTTP:
        return server->get(connection, text) && !lws_http_transaction_completed(connection) ? 0 : -1;
      case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return server->admit(connection, in ? static_cast<const char*>(in) : "");
      case LWS_CALLBACK_ESTABLISHED: server->welcome(connection, client); return 0;
      case LWS_CALLBACK_SERVER_WRITEABLE: return server->write_next(**client);
      case LWS_CALLBACK_RECEIVE: return ((*client)->received += length) > kMaxReceived ? -1 : 0;
      case LWS_CALLBACK_CLOSED:
        server->clients_.remove_if([&](const Client& one) { return &one == *client; });
        return 0;
      default: return lws_callback_http_dummy(connection, reason, session, in, length);
    }
  }

  ListenAddress address_;
  std::string token_;
  lws_context* context_ = nullptr;
  std::thread thread_;
  std::atomic<bool> ended_ = false;

  std::mutex mutex_;  // for these two
  std::vector<Event> inbox_;
  double inbox_heard_s_ = 0;

  double heard_s_ = 0;
  std::list<Client> clients_;
  std::deque<std::string> state_;  // committed events
  size_t state_bytes_ = 0;
  std::string tail_;               // the partial event behind them, or ""

  // Clients that are gone without a word are found by asking them, so that they don't stay for ever.
  const lws_retry_bo_t idle_policy_ = {.secs_since_valid_ping = 20, .secs_since_valid_hangup = 45};
  const lws_protocols protocols_[2] = {{"captions", callback, sizeof(Client*), 1024, 0, nullptr, 0}, {}};
};

ServerOutput::ServerOutput(const ServerOptions& options) : server_(std::make_unique<Server>(options)) {}

ServerOutput::~ServerOutput() = default;

int ServerOutput::port() const { return server_->address().port; }

std::string ServerOutput::page_url() const {
  std::string url = "http://";
  url.append(host_of(server_->address())).append(":").append(std::to_string(port())).append("/");
  return server_->token().empty() ? url : url.append("?token=").append(server_->token());
}

void ServerOutput::update(const CaptionUpdate& update) {
  heard_s_ = std::max(heard_s_, update.heard_s);
  server_->push(events_.take(update), heard_s_);
}

void ServerOutput::level(double heard_s, float, bool) {
  heard_s_ = std::max(heard_s_, heard_s);
  server_->push({}, heard_s_);
}

void ServerOutput::notice(double heard_s, const std::string& sentence) {
  server_->push({notice_event(heard_s, sentence)}, heard_s_);
}

void ServerOutput::finish() {
  server_->push({end_event(heard_s_)}, heard_s_);
  server_->end();
}

std::string_view caption_page() {
  return {sotto_caption_page, static_cast<size_t>(sotto_caption_page_end - sotto_caption_page)};
}

}  // namespace sotto
