// One file from a server to the disk: resumed where it stopped, checked while it is written, renamed when it is whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "models/error.h"

namespace sotto {

// What goes wrong at one source and might not at another. Disks that are full or can't be written are plain Errors.
struct SourceError : Error {
  explicit SourceError(const std::string& what, std::string host = "")
      : Error(what), unreachable_host(std::move(host)) {}
  std::string unreachable_host;  // set where that is all that is wrong
};

// Somebody asked to stop. What came so far stays, to go on from.
struct Interrupted : Error {
  Interrupted() : Error("interrupted") {}
};

struct Checksum {
  std::string sha256;        // 64 hex digits; empty: the one the server gives with the file
  bool must_be_known = true; // without one from the server either, refuse the file
};

struct DownloadSettings {
  bool quiet = false;            // no progress on stderr
  int connect_timeout_ms = 10000;
  int early_connect_timeout_ms = 2000;  // for a source that has another after it
  int stall_timeout_s = 30;      // without a byte for so long, the transfer is broken off
  int retries = 3;               // after a transfer that broke off, if it got any further
  const std::atomic<bool>* stop = nullptr;  // once true, Interrupted is thrown

  bool stopped() const { return stop && stop->load(std::memory_order_relaxed); }
};

struct Download {
  std::string url;
  std::string path;  // the file when it is whole; <path>.part until then
  Checksum checksum;
};

// Returns the sha256 of the file. Throws SourceError, Interrupted or Error.
std::string download(const Download& what, const DownloadSettings& settings);

}  // namespace sotto
