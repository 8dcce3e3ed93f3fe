#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"
#include "temporary.h"
#include "test_models.h"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// An empty home, and no way out of the machine should a test try to take one.
struct Home {
  TemporaryFolder folder;
  ScopedVariable home{"SOTTO_HOME", folder.path().c_str()};
  ScopedVariable proxy{"https_proxy", "http://127.0.0.1:9"};
  ScopedVariable path{"PATH", "/nonexistent"};
  std::string models = folder.path() + "/models";

  // A model of one byte under a name, with the manifest of a fetch.
  void install(const std::string& name, const std::string& sha256) {
    fs::create_directories(models + "/" + name);
    std::ofstream(models + "/" + name + "/" + name + ".pt") << "x";
    const json file = {{"name", name + ".pt"}, {"bytes", 1}, {"sha256", sha256}};
    std::ofstream(models + "/" + name + "/sotto.json")
        << json{{"source", "openai"}, {"opens", name + ".pt"}, {"files", {file}}};
  }
  json row(const std::string& name) {
    for (const auto& row : json::parse(run_sotto("models list --json").out)) {
      if (row["name"] == name) return row;
    }
    return {};
  }
};

constexpr char kShaOfX[] = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

}  // namespace

TEST_CASE_FIXTURE(Home, "models list shows every name and what is on the disk") {
  install("small", kShaOfX);
  const Ran table = run_sotto("models list");
  CHECK(table.status == 0);
  for (const char* part : {"tiny.en ", "large-v3-turbo ", "turbo ", "distil-large-v3.5 ", "vad ", "English"}) {
    CHECK_MESSAGE(has(table.out, part), part);
  }
  CHECK(row("small")["path"] == models + "/small/small.pt");
  CHECK(row("small")["source"] == "openai");
  CHECK(row("base")["installed"] == false);
  CHECK(row("large-v3")["aliases"] == json{"large"});
  CHECK(row("large-v3")["languages"] == 100);
}

TEST_CASE_FIXTURE(Home, "models fetch checks what is there") {
  install("small", kShaOfX);
  const Ran whole = run_sotto("models fetch small --offline");
  CHECK(whole.status == 0);
  CHECK(whole.out == "small: " + models + "/small/small.pt\n");
  install("small", std::string(64, '0'));
  const Ran damaged = run_sotto("models fetch small --offline");
  CHECK(damaged.status == 1);
  CHECK(has(damaged.err, "small is damaged"));
}

TEST_CASE_FIXTURE(Home, "models fetch goes on past one that fails, and says so at the end") {
  install("small", kShaOfX);
  const Ran ran = run_sotto("models fetch base small --quiet");
  CHECK(ran.status == 1);
  CHECK(has(ran.out, "small: "));
  CHECK(has(ran.err, "base can't be fetched: "));
  CHECK(has(ran.err, "python3"));
  CHECK(!row("base")["installed"]);
}

TEST_CASE_FIXTURE(Home, "a misspelt name is told before anything is fetched") {
  const Ran ran = run_sotto("models fetch base smal");
  CHECK(ran.status == 1);
  CHECK(has(ran.err, "did you mean small"));
  CHECK(!fs::exists(models));
  CHECK(run_sotto("models fetch").status == 2);
  CHECK(run_sotto("models").status == 2);
}

TEST_CASE_FIXTURE(Home, "models remove frees what a model took") {
  install("large-v3", kShaOfX);
  const Ran removed = run_sotto("models remove large");
  CHECK(removed.status == 0);
  CHECK(has(removed.out, "removed large-v3: "));
  CHECK(!fs::exists(models + "/large-v3"));
  const Ran again = run_sotto("models remove large");
  CHECK(again.status == 1);
  CHECK(has(again.err, "nothing to remove"));
}

TEST_CASE_FIXTURE(Home, "models info describes a model by name, also one that isn't here") {
  const Ran ran = run_sotto("models info turbo");
  CHECK(ran.status == 0);
  CHECK(has(ran.out, "large-v3-turbo"));
  CHECK(has(ran.out, "32 encoder, 4 decoder"));
  CHECK(has(ran.out, "not in " + models));
}

TEST_CASE("models info describes weights at a path") {
  const auto base = test_model("base");
  if (!base) {
    MESSAGE("skipped: no weights of base here");
    return;
  }
  const Ran ran = run_sotto("models info '" + *base + "'");
  CHECK(ran.status == 0);
  CHECK(has(ran.out, "6 encoder, 6 decoder"));
  CHECK(has(ran.out, "3:1 4:2 4:3 4:7 5:1 5:2 5:4 5:6"));
}
