#include "models/download.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "models/disk.h"
#include "models/http_server.h"
#include "models/progress.h"
#include "models/sha256.h"
#include "temporary.h"

using namespace sotto;

namespace {

std::string some_bytes(size_t size, unsigned seed = 1) {
  std::string bytes(size, '\0');
  for (char& c : bytes) {
    seed = seed * 1664525u + 1013904223u;
    c = static_cast<char>(seed >> 24);
  }
  return bytes;
}

std::string sha256(const std::string& bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A file that a server has and a folder that it is to come to.
struct Fixture {
  TemporaryFolder folder;
  ScopedVariable no_proxy{"no_proxy", "127.0.0.1"};
  std::string file = some_bytes(300'000);
  std::string path = folder.path() + "/model.bin", part = path + ".part";
  DownloadSettings settings{.quiet = true, .stall_timeout_s = 1};

  std::string get(const HttpServer& server, const Checksum& checksum) {
    return download({server.url("/model.bin"), path, checksum}, settings);
  }
  std::string get(const HttpServer& server) { return get(server, {sha256(file)}); }
  std::string problem(const HttpServer& server, const Checksum& checksum) {
    try {
      get(server, checksum);
    } catch (const SourceError& error) {
      return error.what();
    }
    return "";
  }
  void leave_part(const std::string& bytes) { std::ofstream(part, std::ios::binary) << bytes; }
};

}  // namespace

TEST_CASE("SHA-256 of the standard's examples") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE_FIXTURE(Fixture, "a file comes whole and under its name") {
  const HttpServer server([&](const Request&) { return Reply{.body = file}; });
  CHECK(get(server) == sha256(file));
  CHECK(contents(path) == file);
  CHECK(!std::filesystem::exists(part));
  CHECK(!server.requests()[0].range_start);
}

TEST_CASE_FIXTURE(Fixture, "a fetch goes on where it stopped") {
  leave_part(file.substr(0, 120'000));
  const HttpServer server([&](const Request& request) { return serve_range(request, file); });
  get(server);
  CHECK(contents(path) == file);
  REQUIRE(server.requests().size() == 1);
  CHECK(server.requests()[0].range_start == 120'000);
}

TEST_CASE_FIXTURE(Fixture, "a server that ignores ranges is no problem") {
  leave_part(file.substr(0, 120'000));
  const HttpServer server([&](const Request&) { return Reply{.body = file}; });
  get(server);
  CHECK(contents(path) == file);
}

TEST_CASE_FIXTURE(Fixture, "a part of another file is not gone on with") {
  leave_part(some_bytes(120'000, 7));
  const HttpServer server([&](const Request& request) { return serve_range(request, file); });
  get(server);
  CHECK(contents(path) == file);
  CHECK(server.requests().size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "a part that was whole already needs nothing more") {
  leave_part(file);
  const HttpServer server([&](const Request& request) { return serve_range(request, file); });
  get(server);
  CHECK(contents(path) == file);
  CHECK(server.requests().size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a part longer than the file starts again") {
  leave_part(file + "more");
  const HttpServer server([&](const Request& request) { return serve_range(request, file); });
  get(server);
  CHECK(contents(path) == file);
}

TEST_CASE_FIXTURE(Fixture, "a file with the wrong checksum is removed") {
  const HttpServer server([&](const Request&) { return Reply{.body = some_bytes(300'000, 9)}; });
  const std::string sentence = problem(server, {sha256(file)});
  CHECK(has(sentence, "wrong checksum"));
  CHECK(has(sentence, sha256(file)));
  CHECK(!std::filesystem::exists(path));
  CHECK(!std::filesystem::exists(part));
}

TEST_CASE_FIXTURE(Fixture, "what a server refuses leaves nothing behind") {
  const HttpServer server([&](const Request&) { return Reply{.status = 404, .body = "<html>no such file</html>"}; });
  CHECK(has(problem(server, {sha256(file)}), "127.0.0.1 answered 404 for model.bin"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE_FIXTURE(Fixture, "a broken connection is taken up again at once") {
  const HttpServer server([&](const Request& request) {
    Reply reply = serve_range(request, file);
    reply.cut_at = 100'000;
    return reply;
  });
  get(server);
  CHECK(contents(path) == file);
  CHECK(server.requests().size() == 3);
}

TEST_CASE_FIXTURE(Fixture, "a connection that breaks for good leaves what came for the next try") {
  std::atomic<bool> broken = true;
  const HttpServer server([&](const Request& request) {
    Reply reply = serve_range(request, file);
    if (broken) reply.cut_at = request.range_start ? 0 : 90'000;
    return reply;
  });
  CHECK(has(problem(server, {sha256(file)}), "broke off while sending model.bin"));
  CHECK(contents(part) == file.substr(0, 90'000));
  broken = false;
  get(server);
  CHECK(contents(path) == file);
  CHECK(server.requests().back().range_start == 90'000);
}

TEST_CASE_FIXTURE(Fixture, "a server that falls silent is given up") {
  const HttpServer server([&](const Request& request) {
    Reply reply = serve_range(request, file);
    reply.cut_at = request.range_start ? 0 : 50'000;
    reply.stall = true;
    return reply;
  });
  CHECK(has(problem(server, {sha256(file)}), "sent nothing of model.bin for 1 s"));
  CHECK(contents(part) == file.substr(0, 50'000));
}

TEST_CASE_FIXTURE(Fixture, "a server that can't be reached is a problem of that source") {
  std::string url;
  {
    const HttpServer gone([](const Request&) { return Reply{}; });
    url = gone.url("/model.bin");
  }
  CHECK_THROWS_WITH_AS(download({url, path, {sha256(file)}}, settings), "127.0.0.1 can't be reached", SourceError);
}

TEST_CASE_FIXTURE(Fixture, "a server that takes the call and says nothing doesn't hold up the next source") {
  const HttpServer silent([](const Request&) { return Reply{}; });  // speaks no TLS
  settings.connect_timeout_ms = 300;
  const std::string url = "https" + silent.url("/model.bin").substr(4);
  CHECK_THROWS_WITH_AS(download({url, path, {sha256(file)}}, settings), "127.0.0.1 didn't answer in time", SourceError);
}

TEST_CASE_FIXTURE(Fixture, "the hub's own hash is checked, also where it redirects to a store with tags of its own") {
  std::string hash = sha256(file);
  const HttpServer server([&](const Request& request) {
    if (request.path == "/store") {
      Reply reply = serve_range(request, file);
      reply.headers.push_back("ETag: \"" + sha256("another") + "\"");
      return reply;
    }
    return Reply{.status = 302, .headers = {"Location: /store", "X-Linked-ETag: \"" + hash + "\""}, .body = "moved"};
  });
  SUBCASE("right") {
    CHECK(get(server, {}) == hash);
    CHECK(contents(path) == file);
  }
  SUBCASE("wrong") {
    hash = sha256("something else");
    CHECK(has(problem(server, {}), "wrong checksum"));
  }
}

TEST_CASE_FIXTURE(Fixture, "without any checksum a file is only taken where that was said to do") {
  const HttpServer server([&](const Request&) { return Reply{.headers = {"ETag: \"5f3a\""}, .body = file}; });
  CHECK(has(problem(server, {}), "gives no checksum for model.bin"));
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(get(server, {"", false}) == sha256(file));
}

TEST_CASE("sentences for disks that can't be written") {
  OutFile full("/dev/full", false);
  const std::string bytes(100'000, 'x');
  CHECK_THROWS_WITH_AS(full.write(bytes.data(), bytes.size()),
                       doctest::Contains("/dev/full can't be written because the disk is full"), Error);
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "x";
  CHECK_THROWS_WITH_AS(make_folder(folder.path() + "/file/models"), doctest::Contains("SOTTO_HOME"), Error);
}

TEST_CASE("the progress line says what matters") {
  CHECK(progress_line("base.pt", 72'500'000, 145'000'000, 14.5e6) ==
        "base.pt   50% [==========          ] 72.5 MB of 145.0 MB  14.5 MB/s  0:05 left");
  CHECK(progress_line("base.pt", 72'500'000, 0, 14.5e6) == "base.pt  72.5 MB  14.5 MB/s");
  CHECK(has(progress_line("x", 999, 1000, 1), " 99% "));
  CHECK(has(progress_line("x", 1000, 1000, 1), "100% [====================]"));
  CHECK(human_duration(3725) == "1:02:05");
  CHECK(human_bytes(3'087'371'615) == "3.09 GB");
}
