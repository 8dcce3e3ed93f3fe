// Captions over HTTP: a page that shows them, made for OBS and other browsers, and a WebSocket that tells the events of
// events.h to any number of clients.
//
//   GET /                    the page; its parameters are told in page.html
//   GET /events (WebSocket)  one text message for each event; the first is the state
//
// A client that joins late gets the last sentences and the tail at once. One that doesn't read what it is sent is dropped
// when so much waits for it; nobody waits for a client.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/live/caption.h"
#include "src/live/outputs/access.h"
#include "src/live/outputs/events.h"

namespace sotto {

struct ServerOptions {
  ListenAddress address;
  std::string token;  // empty: none is asked for on loopback, and any other address gets a new one
};

class ServerOutput : public CaptionOutput {
 public:
  static constexpr int kMaxClients = 256;
  static constexpr size_t kMaxWaiting = 256 * 1024;  // bytes that wait for one client, beside what the system holds

  // Listens when it returns. Throws Error where it can't, and for a token that is none.
  explicit ServerOutput(const ServerOptions& options);
  ~ServerOutput() override;

  int port() const;
  std::string page_url() const;  // with the token

  void update(const CaptionUpdate& update) override;
  void level(double heard_s, float level_db, bool speaking) override;
  void notice(double heard_s, const std::string& sentence) override;
  void finish() override;  // tells the end, gives clients a second to take it, and ends

 private:
  class Server;
  std::unique_ptr<Server> server_;
  EventMaker events_;
  double heard_s_ = 0;
};

std::string_view caption_page();  // HTML

}  // namespace sotto
