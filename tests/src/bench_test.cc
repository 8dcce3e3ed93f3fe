// sotto bench as people and scripts read it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"
#include "test_models.h"

namespace {

using nlohmann::json;

TEST_CASE("sotto bench gives each stage's time and its share of the limit") {
  const auto model = test_model("tiny.en");
  if (!model) {
    MESSAGE("skipped: no weights of tiny.en");
    return;
  }
  const Ran ran = run_sotto("bench -m " + *model + " --precision int8 --threads 2 --rounds 1 --beam-size 2 --json");
  REQUIRE(ran.status == 0);
  const json report = json::parse(ran.out);
  REQUIRE(report["limits"].size() == 2);
  CHECK(report["limits"][0]["threads"] == 1);
  CHECK(report["limits"][1]["multiply_gop_s"]["f32"] > 0);
  CHECK(report["limits"][1]["read_gb_s"] > 0);
  REQUIRE(report["stages"].size() == 8);  // encode, prompt, steps of 1 and 2 rows; on 1 thread and 2
  for (const json& stage : report["stages"]) CHECK(stage["ms"] > 0);
  // 21.2 + 13.8 + 1.9 + 3.5 G operations of tiny's encoder, by hand from its shapes.
  const json& ops = report["stages"][0]["gop"];
  const json& parts = report["stages"][0]["parts"];
  REQUIRE(parts.size() == 9);
  double part_ops = 0, all_ops = 0;
  for (const json& part : parts) {
    CHECK(part["ms"] > 0);
    if (part.contains("gop"))
      for (const json& of_type : part["gop"]) part_ops += of_type.get<double>();
  }
  for (const json& of_type : ops) all_ops += of_type.get<double>();
  CHECK(part_ops == doctest::Approx(all_ops));
  CHECK(all_ops == doctest::Approx(40.5).epsilon(0.01));  // some in bf16 where there is an instruction for it

  const Ran batches = run_sotto("bench -m " + *model +
                                " --precision int8 --threads 1 --rounds 3 --beam-size 1 --batch 1,8 --json");
  REQUIRE(batches.status == 0);
  const json stages = json::parse(batches.out)["stages"];
  REQUIRE(stages.size() == 5);  // encode; prompt and step of 1 window and of 8
  CHECK(stages[4]["stage"] == "step, 8 windows x 1 row");
  CHECK(stages[4]["ms_per_window"] == doctest::Approx(stages[4]["ms"].get<double>() / 8));
  CHECK(stages[4]["mb"] < 3 * stages[2]["mb"].get<double>());  // weights are read once for all

  const Ran text = run_sotto("bench -m " + *model + " --threads 1 --rounds 1 --beam-size 1");
  CHECK(text.status == 0);
  CHECK(text.out.find("encode a window") != std::string::npos);
  CHECK(text.out.find("limit ms") != std::string::npos);
}

TEST_CASE("sotto bench --kernels gives each kernel's error") {
  const Ran ran = run_sotto("bench --kernels --rounds 1 --json");
  REQUIRE(ran.status == 0);
  const json report = json::parse(ran.out);
  CHECK(report.size() >= 15);
  for (const json& kernel : report) {
    CAPTURE(kernel["kernel"].get<std::string>());
    CHECK(kernel["us"] > 0);
    // Rounding to int8 or bf16 is part of it: a step of 1/127 of the largest of 128 values, at most.
    CHECK(kernel["error"] < 0.02);
  }
  CHECK(run_sotto("bench --isa none-such").status == 1);
}

TEST_CASE("sotto bench --plan gives the least times on a GPU that is not here, and --device cuda none of the processor's") {
  const auto model = test_model("tiny.en");
  if (!model) {
    MESSAGE("skipped: no weights of tiny.en");
    return;
  }
  const Ran plan = run_sotto("bench --plan h200 -m " + *model + " --batch 8");
  CHECK(plan.status == 0);
  for (const char* part : {"H200", "predicted, not measured", "MB cache", "attention", "cross keys and values", "bound by",
                           "encoding 8 windows", "a step of 8 x 5 rows"}) {
    CAPTURE(part);
    CHECK(plan.out.find(part) != std::string::npos);
  }
  const Ran few = run_sotto("bench --plan 4090 -m large-v3 --batch 64 --precision bf16");
  CHECK(few.status == 0);
  CHECK(few.out.find("large-v3 in bf16 on RTX 4090") != std::string::npos);
  CHECK(few.out.find("of 64 windows at once 36 fit") != std::string::npos);
  const Ran absent = run_sotto("bench --device cuda:9999 -m " + *model);
  CHECK(absent.status == 1);
  CHECK(absent.err.find("this bench is of a GPU: ") != std::string::npos);
}

TEST_CASE("sotto bench --offline downloads nothing") {
  const TemporaryFolder folder;
  const Ran ran = run_sotto("bench --offline -m tiny --rounds 1 --model-dir " + folder.path());
  CHECK(ran.status == 1);
  CHECK(ran.err.find("offline") != std::string::npos);
}

TEST_CASE("an NVIDIA driver that is there and can't be opened is told as such, not as one that isn't there") {
  const auto model = test_model("tiny.en");
  if (!model) {
    MESSAGE("skipped: no weights of tiny.en");
    return;
  }
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/libcuda.so.1");
  setenv("LD_LIBRARY_PATH", folder.path().c_str(), 1);
  const Ran ran = run_sotto("bench --device cuda -m " + *model);
  unsetenv("LD_LIBRARY_PATH");
  CHECK(ran.status == 1);
  CHECK(ran.err.find("the NVIDIA driver could not be opened: ") != std::string::npos);
  CHECK(ran.err.find("libcuda.so.1: file too short") != std::string::npos);
}

}  // namespace
