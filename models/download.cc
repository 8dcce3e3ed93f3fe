#include "models/download.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "models/disk.h"
#include "models/progress.h"
#include "models/sha256.h"

namespace sotto {
namespace {

std::string host_of(const std::string& url) {
  const size_t from = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  return url.substr(from, url.find_first_of("/:", from) - from);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c); });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// The bytes of <path>.part and their hash, kept together.
class Partial {
 public:
  explicit Partial(const std::string& path) : out_(path, true) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> buffer(1 << 20);
    while (in) {
      in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
      hash_.update(buffer.data(), static_cast<size_t>(in.gcount()));
      size_ += in.gcount();
    }
    if (!in.eof()) throw Error(path + " can't be read; remove it and try again");
  }
  void write(const char* data, size_t size) {
    out_.write(data, size);
    hash_.update(data, size);
    size_ += static_cast<int64_t>(size);
  }
  void restart() {
    out_.restart();
    hash_ = Sha256();
    size_ = 0;
  }
  void finish() { out_.finish(); }
  int64_t size() const { return size_; }
  std::string sha256() const { return hash_.hex(); }

 private:
  OutFile out_;
  Sha256 hash_;
  int64_t size_ = 0;
};

// One request and what its answer says.
struct Transfer {
  Partial& partial;
  Progress& progress;
  CURL* curl;
  const DownloadSettings& settings;
  bool body_started = false;
  int64_t range_start = 0;              // of the answer's Content-Range
  std::string linked_sha256, tag_sha256;
  std::exception_ptr failure;           // thrown while writing; curl's frames are C

  curl_off_t received = 0;
  std::chrono::steady_clock::time_point received_at = std::chrono::steady_clock::now();

  bool stalled(curl_off_t now) {
    const auto time = std::chrono::steady_clock::now();
    if (now != received) received_at = time;
    received = now;
    return time - received_at >= std::chrono::seconds(settings.stall_timeout_s);
  }

  std::string server_sha256() const { return linked_sha256.empty() ? tag_sha256 : linked_sha256; }

  void header(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string name = lower(line.substr(0, colon));
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.front()))) value.remove_prefix(1);
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back()))) value.remove_suffix(1);
    if (name == "content-range" && value.starts_with("bytes ")) {
      value.remove_prefix(6);
      std::from_chars(value.data(), value.data() + value.size(), range_start);
      return;
    }
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (!is_sha256(value)) return;
    if (name == "x-linked-etag") linked_sha256 = lower(value);  // the hub's own; a store it leads to has other tags
    if (name == "etag") tag_sha256 = lower(value);
  }

  void body(const char* data, size_t size) {
    if (!body_started) {
      long status = 0;
      curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
      const bool goes_on = status == 206 && range_start == partial.size();
      if (!goes_on && partial.size() > 0) partial.restart();
      if (!goes_on && status == 206 && range_start != 0) {
        throw SourceError("the server sent another part of the file than was asked for");
      }
      body_started = true;
    }
    partial.write(data, size);
  }
};

size_t on_header(char* data, size_t, size_t size, void* transfer) {
  static_cast<Transfer*>(transfer)->header({data, size});
  return size;
}

size_t on_body(char* data, size_t, size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  try {
    transfer.body(data, size);
    return size;
  } catch (...) {
    transfer.failure = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

// Called about once a second, also while nothing comes. Returns 1 to give up.
int on_progress(void* user, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  if (transfer.settings.stopped() || transfer.stalled(now)) return 1;
  if (now > 0) transfer.progress.update(transfer.partial.size(), total > 0 ? transfer.partial.size() - now + total : 0);
  return 0;
}

using Curl = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

Curl new_curl(const Download& what, const DownloadSettings& settings) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  Curl curl(curl_easy_init(), curl_easy_cleanup);
  CHECK_INVARIANT(curl != nullptr);
  CURL* c = curl.get();
  curl_easy_setopt(c, CURLOPT_URL, what.url.c_str());
  // What is asked for over https never comes over anything else, however it is redirected.
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, what.url.starts_with("https:") ? "https" : "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(c, CURLOPT_MAXREDIRS, 8L);
  curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "sotto");
  curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);  // a name server that is silent isn't waited for past the timeout
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings.connect_timeout_ms));
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  return curl;
}

// What a failed request means, as a clause that starts with the host.
std::string failure_text(const Download& what, CURLcode code, long status, const char* detail,
                         const DownloadSettings& settings) {
  const std::string host = host_of(what.url);
  const std::string name = std::filesystem::path(what.path).filename();
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return host + " can't be reached";
    case CURLE_HTTP_RETURNED_ERROR:
      return host + " answered " + std::to_string(status) + " for " + name;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
      return host + " couldn't be verified (" + detail + ")";
    case CURLE_OPERATION_TIMEDOUT:
      return host + " didn't answer in time";
    case CURLE_ABORTED_BY_CALLBACK:
      return host + " sent nothing of " + name + " for " + std::to_string(settings.stall_timeout_s) + " s";
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return host + " broke off while sending " + name;
    default:
      return host + " failed to send " + name + " (" + (*detail ? detail : curl_easy_strerror(code)) + ")";
  }
}

struct Outcome {
  CURLcode code;
  long status;
  bool unreachable() const {
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT;
  }
  std::string problem;  // empty: the answer came whole
  std::string server_sha256;
};

// Makes one request and appends what comes to the partial file.
Outcome request(const Download& what, const DownloadSettings& settings, Partial& partial, Progress& progress) {
  const Curl curl = new_curl(what, settings);
  char detail[CURL_ERROR_SIZE] = "";
  Transfer transfer{partial, progress, curl.get(), settings};
  const std::string range = std::to_string(partial.size()) + "-";
  if (partial.size() > 0) curl_easy_setopt(curl.get(), CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &transfer);
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  Outcome outcome{code, status, "", transfer.server_sha256()};
  if (code != CURLE_OK) outcome.problem = failure_text(what, code, status, detail, settings);
  return outcome;
}

// Requests until the answer is whole, as long as each try gets further. Returns the last answer.
Outcome request_all(const Download& what, const DownloadSettings& settings, Partial& partial, Progress& progress) {
  for (int attempt = 0;; ++attempt) {
    const int64_t before = partial.size();
    Outcome outcome = request(what, settings, partial, progress);
    if (settings.stopped()) throw Interrupted();
    if (outcome.problem.empty()) return outcome;
    if (outcome.status == 416 && before > 0) return outcome;  // nothing after what is there: the hash decides
    if (partial.size() <= before || attempt >= settings.retries) {
      if (partial.size() == 0) remove_all(what.path + ".part");  // nothing to go on from
      if (partial.size() == 0 && outcome.unreachable()) throw SourceError(outcome.problem, host_of(what.url));
      throw SourceError(outcome.problem + (partial.size() > 0 ? ", and the next try goes on at " +
                                                                   human_bytes(partial.size())
                                                             : ""));
    }
  }
}

}  // namespace

std::string download(const Download& what, const DownloadSettings& settings) {
  const std::string part = what.path + ".part";
  const std::string name = std::filesystem::path(what.path).filename();
  for (;;) {
    Partial partial(part);
    const bool resumed = partial.size() > 0;
    Progress progress(name + " from " + host_of(what.url), partial.size(), settings.quiet);
    const Outcome outcome = request_all(what, settings, partial, progress);
    const std::string expected = what.checksum.sha256.empty() ? outcome.server_sha256 : what.checksum.sha256;
    const std::string got = partial.sha256();
    if (expected.empty() && what.checksum.must_be_known) {
      remove_all(part);
      throw SourceError(host_of(what.url) + " gives no checksum for " + name);
    }
    if (got == expected || (expected.empty() && outcome.status != 416)) {
      partial.finish();
      progress.finish(partial.size(), !expected.empty());
      rename_durably(part, what.path);
      return got;
    }
    remove_all(part);  // a resumed file may have changed on the server since: once more, from nothing
    if (!resumed) {
      throw SourceError("what " + host_of(what.url) + " sent for " + name + " has the wrong checksum (sha256 " + got +
                        " instead of " + expected + ") and was removed");
    }
  }
}

}  // namespace sotto
