#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "models/weights.h"
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
  CHECK(whole.out == "small is here already, checked: " + models + "/small/small.pt\n");
  install("small", std::string(64, '0'));
  const Ran damaged = run_sotto("models fetch small --offline");
  CHECK(damaged.status == 1);
  CHECK(has(damaged.err, "small is damaged"));
}

TEST_CASE_FIXTURE(Home, "models fetch goes on past one that fails, and says so at the end") {
  install("small", kShaOfX);
  const Ran ran = run_sotto("models fetch base small --quiet");
  CHECK(ran.status == 1);
  CHECK(has(ran.out, "small is here already"));
  CHECK(has(ran.err, "base can't be fetched: "));
  CHECK(has(ran.err, "python3"));
  CHECK(has(ran.err, "neither openaipublic.azureedge.net nor huggingface.co can be reached; "));
  CHECK(has(ran.err, "check the network (installed: small)"));
  CHECK(!row("base")["installed"]);
}

TEST_CASE_FIXTURE(Home, "Ctrl-C ends a fetch with a word, and leaves nothing that no fetch can go on from") {
  const std::string python = folder.path() + "/python3", started = folder.path() + "/started";
  std::ofstream(python) << "#!/bin/sh\n"
                           "while [ \"$1\" != -d ]; do shift; done\n"
                           "echo half > \"$2/half.whl\"; : > " + started + "\nexec sleep 20\n";
  fs::permissions(python, fs::perms::owner_all);
  const ScopedVariable with_python("PATH", (folder.path() + ":/usr/bin:/bin").c_str());
  const ScopedVariable program("PROGRAM", SOTTO_PROGRAM);
  const std::string out = folder.path() + "/err", script = folder.path() + "/script";
  // A shell's job in the background would be deaf to Ctrl-C.
  std::ofstream(script) << "import os, signal, subprocess, sys, time\n"
                           "p = subprocess.Popen([os.environ['PROGRAM'], 'models', 'fetch', 'tiny.en'])\n"
                           "for _ in range(500):\n"
                           "  if os.path.exists('" + started + "'): break\n"
                           "  time.sleep(0.02)\n"
                           "p.send_signal(signal.SIGINT)\n"
                           "sys.exit(0 if p.wait(10) == -signal.SIGINT else 1)\n";
  CHECK(std::system(("/usr/bin/python3 " + script + " 2> " + out).c_str()) == 0);
  CHECK(has(file_content(out), "\ninterrupted\n"));
  CHECK(!fs::exists(models + "/tiny.en.part"));
}

TEST_CASE_FIXTURE(Home, "a misspelt name is told before anything is fetched") {
  const Ran ran = run_sotto("models fetch base smal");
  CHECK(ran.status == 1);
  CHECK(has(ran.err, "did you mean small"));
  CHECK(!fs::exists(models));
  CHECK(run_sotto("models fetch").status == 2);
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

TEST_CASE_FIXTURE(Home, "models without a command shows its help; an unknown one is named") {
  const Ran bare = run_sotto("models");
  CHECK(bare.status == 2);
  CHECK(has(bare.err, "fetch"));
  CHECK(has(bare.err, "Describe a model"));
  const Ran other = run_sotto("models delete base");
  CHECK(other.status == 2);
  CHECK(has(other.err, "no command \"delete\"; did you mean remove?"));
  CHECK(run_sotto("models --help").status == 0);
  CHECK(run_sotto("models list base").status == 2);
}

TEST_CASE_FIXTURE(Home, "packed weights are counted, and removed alone") {
  const std::string packed = folder.path() + "/packed";
  CHECK(!has(run_sotto("models list").out, "packed"));
  fs::create_directories(packed);
  std::ofstream(packed + "/0123-avx2-int8") << std::string(5'000'000, 'x');
  CHECK(has(run_sotto("models list").out, "5.0 MB of packed weights in " + packed));
  CHECK(run_sotto("models remove").status == 2);
  const Ran removed = run_sotto("models remove --packed");
  CHECK(removed.status == 0);
  CHECK(has(removed.out, "5.0 MB freed"));
  CHECK(fs::is_empty(packed));
}

TEST_CASE_FIXTURE(Home, "models remove takes the model's packed weights along, and no other's") {
  const auto base = test_model("base");
  if (!base) {
    MESSAGE("skipped: no weights of base here");
    return;
  }
  const std::string packed = folder.path() + "/packed", digest = sotto::open_weights(*base)->digest;
  fs::create_directories(packed);
  std::ofstream(packed + "/" + digest + "-avx2-int8") << std::string(5'000'000, 'x');
  std::ofstream(packed + "/0123-avx2-int8") << "x";
  fs::create_directories(models);
  fs::create_directory_symlink(*base, models + "/base");
  CHECK(has(run_sotto("models info base").out, "5.0 MB  " + packed + "/" + digest + "-avx2-int8"));
  CHECK(run_sotto("models remove base").status == 0);
  CHECK(!fs::exists(packed + "/" + digest + "-avx2-int8"));
  CHECK(fs::exists(packed + "/0123-avx2-int8"));
  CHECK(fs::exists(*base));
}

TEST_CASE_FIXTURE(Home, "a file that is no model gets an error and nothing else") {
  const std::string file = folder.path() + "/a.mp3";
  std::ofstream(file) << "ID3 and so on";
  const Ran ran = run_sotto("models info " + file);
  CHECK(ran.status == 1);
  CHECK(ran.out.empty());
  CHECK(has(ran.err, "sotto: the model " + file + " can't be used: "));
  CHECK(!has(ran.err, ".\n"));
}

TEST_CASE_FIXTURE(Home, "models info describes a model by name, also one that isn't here") {
  const Ran ran = run_sotto("models info turbo");
  CHECK(ran.status == 0);
  CHECK(has(ran.out, "large-v3-turbo"));
  CHECK(has(ran.out, "32 encoder, 4 decoder"));
  CHECK(has(ran.out, "not in " + models));
  CHECK(has(ran.out, "~1.62 GB"));
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
