// Who may hear the captions that the server tells.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

struct ListenAddress {
  std::string ip;        // "127.0.0.1", "::1"
  int port = 0;          // 0: any that is free
  bool ipv6 = false;
  bool loopback = false; // only this machine reaches it
};

// "127.0.0.1:8765", "localhost:8765", "[::1]:8765", or "8765" for 127.0.0.1. Throws Error.
ListenAddress parse_listen_address(std::string_view written);

std::string host_of(const ListenAddress& address);  // as it stands in a URL: "127.0.0.1", "[::1]"

std::string new_token();  // 128 bits from the system, in hexadecimal

// Throws Error for one that could be guessed (below 16 characters) or can't stand in an address as it is.
void check_token(std::string_view token);

// What a request says of itself; empty: nothing.
struct RequestHeads {
  std::string_view host, origin, token;
};

enum class Access { granted, wrong_host, wrong_origin, wrong_token };

// Without a token only this machine's programs and the server's own page may listen:
// - a page from elsewhere that a browser of this machine shows tells its origin, which isn't the server's address;
// - one whose name was made to point to this machine ("DNS rebinding") asks for a host of that name.
// With a token (compared in constant time) a server may be reached under any name, but still not from others' pages.
// token: the server's, or "". A program that is no browser tells no origin, and needs none.
Access access_of(const RequestHeads& request, const ListenAddress& address, std::string_view token);

// The status of HTTP for what isn't granted, and a sentence.
int status_of(Access access);
std::string_view sentence_of(Access access);

}  // namespace sotto
