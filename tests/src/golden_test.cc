// Real speech through real weights, token for token as the reference implementation has it (tests/golden/README.md).
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/cpu/isa.h"
#include "near_tie.h"
#include "src/prompt.h"
#include "src/suppress.h"
#include "src/transcribe.h"
#include "test_models.h"

using namespace sotto;
using nlohmann::json;

namespace {

constexpr double kNearTie = 0.01;  // between log-probs: f32 sums in another order differ by less

std::vector<json> golden(const std::string& name) {
  std::ifstream file(SOTTO_SOURCE_DIR "/tests/golden/" + name + ".jsonl");
  REQUIRE(file.good());
  std::vector<json> clips;
  for (std::string line; std::getline(file, line);) clips.push_back(json::parse(line));
  REQUIRE(!clips.empty());
  return clips;
}

std::vector<int> all_tokens(const Transcript& transcript) {
  std::vector<int> tokens;
  for (const Segment& segment : transcript.segments)
    tokens.insert(tokens.end(), segment.tokens.begin(), segment.tokens.end());
  return tokens;
}

std::vector<int> all_tokens(const json& clip) {
  std::vector<int> tokens;
  for (const json& segment : clip["segments"])
    for (const int token : segment["tokens"]) tokens.push_back(token);
  return tokens;
}

// The gap at the first different token of a clip that fits into one window, which the slot still holds.
double first_gap(Engine& engine, const json& clip, const std::vector<int>& ours, const std::vector<int>& theirs) {
  const auto [a, b] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
  const int eot = engine.tokenizer.special().eot;
  const auto prompt = whole_prompt({}, engine.tokenizer.special(),
                                   engine.tokenizer.language_token(clip["language"].get<std::string>()), false);
  return gap_between(*engine.network, 0, prompt, std::span(ours.data(), a - ours.begin()), a == ours.end() ? eot : *a,
                     b == theirs.end() ? eot : *b, *suppressed_tokens("-1", engine.tokenizer));
}

// The words of a segment: times to the step of 0.02 s at which attention is looked at.
void compare_words(const Segment& segment, const json& expected, double duration_s) {
  REQUIRE(segment.words.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Word& word = segment.words[i];
    CAPTURE(word.text);
    CHECK(word.text == expected[i]["word"]);
    CHECK(std::abs(word.start_s - expected[i]["start"].get<double>()) < 0.0201);
    CHECK(std::abs(word.end_s - std::min(expected[i]["end"].get<double>(), duration_s)) < 0.0201);
    CHECK(std::abs(word.probability - expected[i]["probability"].get<double>()) < 0.01);
  }
}

void compare(Engine& engine, const json& clip, int beam_size) {
  const std::string audio = std::string(kTestSpeech) + "/" + clip["audio"].get<std::string>();
  CAPTURE(audio);
  CAPTURE(beam_size);
  TranscribeOptions options;
  options.language = clip["language"];
  options.sampling.beam_size = beam_size;
  options.sampling.temperatures = {0};
  options.words.timestamps = clip["segments"][0].contains("words");
  const Transcript transcript = transcribe(engine, {audio, {}}, options, {});

  const auto ours = all_tokens(transcript), theirs = all_tokens(clip);
  if (ours != theirs) {
    CHECK(first_gap(engine, clip, ours, theirs) <= kNearTie);
    return;
  }
  REQUIRE(transcript.segments.size() == clip["segments"].size());
  for (size_t i = 0; i < transcript.segments.size(); ++i) {
    const Segment& segment = transcript.segments[i];
    const json& expected = clip["segments"][i];
    CHECK(segment.seek == expected["seek"]);
    CHECK(segment.text == expected["text"]);
    if (options.words.timestamps) {
      compare_words(segment, expected["words"], transcript.duration_s);
    } else {
      CHECK(segment.start_s == doctest::Approx(expected["start"].get<double>()));
      CHECK(segment.end_s == doctest::Approx(std::min(expected["end"].get<double>(), transcript.duration_s)));
    }
    CHECK(std::abs(segment.avg_log_prob - expected["avg_logprob"].get<double>()) < kNearTie);
    CHECK(std::abs(segment.no_speech_prob - expected["no_speech_prob"].get<double>()) < kNearTie);
    CHECK(std::abs(segment.compression_ratio - expected["compression_ratio"].get<double>()) < 1e-5);
  }
}

void compare_all(const std::string& engine_name, const std::string& model, const std::string& decoding,
                 int beam_size, const std::string& isa = "") {
  CAPTURE(engine_name);
  CAPTURE(isa);
  const auto path = test_model(model);
  if (!path || !std::filesystem::exists(kTestSpeech)) {
    MESSAGE("skipped: the weights of " << model << " or the speech in " << kTestSpeech << " are not here");
    return;
  }
  Engine engine = open_engine(*path, {.max_rows = beam_size, .engine = engine_name, .precision = "f32",
                                      .isa = isa});
  for (const json& clip : golden(model + "." + decoding)) compare(engine, clip, beam_size);
}

}  // namespace

TEST_CASE("greedy decoding gives the reference's tokens, times and probabilities") {
  compare_all("reference", "tiny.en", "greedy", 1);
  compare_all("auto", "tiny.en", "greedy", 1);
  compare_all("auto", "base", "greedy", 1);
}

TEST_CASE("beam search gives the reference's tokens, times and probabilities") {
  compare_all("reference", "tiny.en", "beam5", 5);
  compare_all("auto", "tiny.en", "beam5", 5);
  compare_all("auto", "base", "beam5", 5);
}

TEST_CASE("older instruction sets give the reference's tokens, times and probabilities") {
  for (const cpu::Kernels* kernels : cpu::available_kernels()) compare_all("cpu", "tiny.en", "greedy", 1, kernels->name);
}

TEST_CASE("full: older instruction sets search beams and time words as the reference") {
  for (const cpu::Kernels* kernels : cpu::available_kernels()) {
    compare_all("cpu", "tiny.en", "words", 1, kernels->name);
    for (const char* model : {"tiny.en", "base"}) compare_all("cpu", model, "beam5", 5, kernels->name);
  }
}

TEST_CASE("word timestamps are the reference's within 0.02 s, and words as probable") {
  compare_all("auto", "tiny.en", "words", 1);
  compare_all("auto", "base", "words", 1);
}
