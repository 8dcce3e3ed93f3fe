#include "src/live/outputs/access.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "models/error.h"

namespace sotto {
namespace {

constexpr size_t kShortestToken = 16;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// "name:80" and "[::1]:80" without the port.
std::string host_without_port(std::string_view host) {
  const size_t end = host.starts_with('[') ? host.find(']') + 1 : host.find(':');
  return lower(host.substr(0, end == 0 ? host.npos : end));
}

bool same_token(std::string_view given, std::string_view right) {
  return given.size() == right.size() &&
         lws_timingsafe_bcmp(given.data(), right.data(), static_cast<uint32_t>(right.size())) == 0;
}

}  // namespace

ListenAddress parse_listen_address(std::string_view written) {
  const auto fail = [&] {
    std::string sentence = "'";
    sentence.append(written).append("' is no address to serve captions at; write 127.0.0.1:8765, [::1]:8765 or only the port");
    throw Error(sentence);
  };
  ListenAddress address;
  std::string_view port = written;
  address.ip = "127.0.0.1";
  if (const size_t colon = written.rfind(':'); colon != written.npos) {
    std::string_view host = written.substr(0, colon);
    port = written.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) {
      host = host.substr(1, host.size() - 2);
      address.ipv6 = true;
    }
    if (lower(host) != "localhost") address.ip = host;
    else if (address.ipv6) fail();
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 || address.port > 65535) fail();
  in6_addr bytes = {};
  if (inet_pton(address.ipv6 ? AF_INET6 : AF_INET, address.ip.c_str(), &bytes) != 1) fail();
  address.loopback = address.ipv6 ? IN6_IS_ADDR_LOOPBACK(&bytes) : bytes.s6_addr[0] == 127;
  return address;
}

std::string host_of(const ListenAddress& address) {
  std::string host = address.ip;
  return address.ipv6 ? host.insert(0, 1, '[').append("]") : host;
}

std::string new_token() {
  std::array<unsigned char, 16> bytes;
  if (::getentropy(bytes.data(), bytes.size()) != 0) throw Error("the system gives no random bytes for a token");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) token.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return token;
}

void check_token(std::string_view token) {
  const bool fits = std::ranges::all_of(token, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
  if (token.size() < kShortestToken || token.size() > 128 || !fits)
    throw Error("a token for the captions' server has from 16 to 128 letters, digits, '-' and '_'");
}

Access access_of(const RequestHeads& request, const ListenAddress& address, std::string_view token) {
  const std::string host = host_without_port(request.host);
  if (token.empty()) {
    if (host != "localhost" && host != "127.0.0.1" && host != "[::1]" && host != host_of(address)) return Access::wrong_host;
  } else if (!same_token(request.token, token)) {
    return Access::wrong_token;
  }
  const std::string origin = lower(request.origin);
  for (const std::string_view scheme : {"http://", "https://"})  // the latter: behind a proxy
    if (origin.starts_with(scheme) && origin.substr(scheme.size()) == lower(request.host)) return Access::granted;
  return origin.empty() ? Access::granted : Access::wrong_origin;
}

int status_of(Access access) { return access == Access::wrong_token ? 401 : access == Access::granted ? 200 : 403; }

std::string_view sentence_of(Access access) {
  switch (access) {
    case Access::granted: return "";
    case Access::wrong_host: return "Captions are told to this machine only, under the address that they are served at.";
    case Access::wrong_origin: return "Captions are told to their own page only.";
    case Access::wrong_token: return "The address lacks the token that was printed when the captions began.";
  }
  CHECK_INVARIANT(false);
}

}  // namespace sotto
