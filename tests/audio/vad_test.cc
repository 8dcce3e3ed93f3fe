// The voice activity network against figures of a plain double-precision version of it, and the rules for segments.
#include "audio/vad.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

#include "audio/vad_weights.h"
#include "models/catalog.h"
#include "models/dims.h"
#include "models/error.h"

using namespace sotto;
namespace fs = std::filesystem;

namespace {

std::optional<std::string> weights_path() {
  const char* folder = std::getenv("SOTTO_TEST_MODELS");
  const std::string path = std::string(folder ? folder : "") + "/silero_vad_16k.safetensors";
  if (folder && fs::exists(path)) return path;
  try {
    return locate_vad({.offline = true, .quiet = true});
  } catch (const Error&) {
    MESSAGE("skipped: the voice activity model is not on this machine (sotto models fetch vad)");
    return std::nullopt;
  }
}

// "Go forward ten meters", 2.8 s of s16 at 16 kHz.
std::vector<float> speech() {
  std::ifstream file("/usr/share/pocketsphinx/test/data/goforward.raw", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<float> sound;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    sound.push_back(static_cast<int16_t>(uint8_t(bytes[i]) | uint8_t(bytes[i + 1]) << 8) / 32768.0f);
  }
  if (sound.empty()) MESSAGE("skipped: pocketsphinx-testdata is not installed");
  return sound;
}

std::string message_for(const std::string& bytes) {
  const fs::path path = fs::temp_directory_path() / ("sotto-vad-test-" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary) << bytes;
  std::string message;
  try {
    VadParameters parameters(path.string());
  } catch (const Error& error) {
    message = error.what();
  }
  fs::remove(path);
  return message;
}

// Chunks of speech as characters: '#' speech, '-' between the thresholds, '.' silence.
std::vector<Speech> segments(const std::string& chunks, const VadSettings& settings = {}, int64_t less = 0) {
  std::vector<float> probabilities;
  for (char c : chunks) probabilities.push_back(c == '#' ? 0.9f : c == '-' ? 0.4f : 0.1f);
  return speech_segments(probabilities, std::ssize(chunks) * kVadChunk - less, settings);
}

}  // namespace

TEST_CASE("speech probabilities are the network's") {
  const auto path = weights_path();
  const std::vector<float> sound = speech();
  if (!path || sound.empty()) return;
  Vad vad(*path);
  const std::vector<float> got = vad.push(sound);
  REQUIRE(got.size() == 88);
  const std::pair<int, double> wanted[] = {{0, 0.04960},  {1, 0.02351},  {7, 0.03044},  {12, 0.00527}, {15, 0.04595},
                                           {16, 0.94469}, {18, 0.99789}, {38, 0.95161}, {40, 0.73565}, {41, 0.89722},
                                           {54, 0.99999}, {68, 0.94112}, {69, 0.60833}, {70, 0.29018}, {71, 0.10866},
                                           {75, 0.01923}, {84, 0.06060}, {86, 0.07548}, {87, 0.02881}};
  for (const auto& [chunk, probability] : wanted) {
    CAPTURE(chunk);
    CHECK(got[chunk] == doctest::Approx(probability).scale(10).epsilon(1e-5));
  }
  const std::vector<Speech> found = speech_segments(got, std::ssize(sound));
  CHECK(found == std::vector<Speech>{{16 * kVadChunk - 480, 70 * kVadChunk + 480}});
}

TEST_CASE("however sound is cut, and after a reset, the probabilities are the same") {
  const auto path = weights_path();
  const std::vector<float> sound = speech();
  if (!path || sound.empty()) return;
  Vad vad(*path);
  const std::vector<float> wanted = vad.push(sound);
  for (int chunks : {1, 3, 8, 11}) {
    vad.reset();
    std::vector<float> got;
    for (size_t at = 0; at < sound.size(); at += chunks * kVadChunk) {
      const size_t n = std::min<size_t>(chunks * kVadChunk, sound.size() - at);
      const std::vector<float> part = vad.push(std::span(sound).subspan(at, n));
      got.insert(got.end(), part.begin(), part.end());
    }
    CHECK(got == wanted);
  }
}

TEST_CASE("every instruction set hears the same") {
  const auto path = weights_path();
  if (!path) return;
  const VadParameters parameters(*path);
  std::vector<VadNetwork> all = {vad_network_generic};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v3")) all.push_back(vad_network_avx2);
  if (__builtin_cpu_supports("x86-64-v4")) all.push_back(vad_network_avx512);
#endif
  std::mt19937 bits(1);
  std::vector<float> input(5 * kVadInput), wanted;
  for (float& x : input) x = int(bits() % 20001 - 10000) / 32768.0f;
  for (VadNetwork network : all) {
    std::vector<float> h(kVadState), c(kVadState), got(5);
    network(parameters.view(), input.data(), 5, h.data(), c.data(), got.data());
    if (wanted.empty()) wanted = got;
    for (int i = 0; i < 5; ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-3));
  }
}

TEST_CASE("silence, noise, a tone and broken samples are no speech") {
  const auto path = weights_path();
  if (!path) return;
  std::mt19937 bits(1);
  for (const char* kind : {"silence", "noise", "tone", "broken"}) {
    CAPTURE(kind);
    std::vector<float> sound(20 * kSampleRate);
    for (size_t i = 0; i < sound.size(); ++i) {
      if (kind[0] == 'n') sound[i] = int(bits() % 65536 - 32768) / 32768.0f * 0.01f;
      if (kind[0] == 't') sound[i] = 0.3f * std::sin(2 * 3.14159265 * 50 * i / kSampleRate);
      if (kind[0] == 'b') sound[i] = i % 100 == 0 ? std::nanf("") : 0;
    }
    Vad vad(*path);
    const std::vector<float> probabilities = vad.push(sound);
    for (float p : probabilities) REQUIRE((p >= 0 && p < 0.5f));
    CHECK(speech_segments(probabilities, std::ssize(sound)).empty());
  }
}

TEST_CASE("a file that isn't the network is one sentence") {
  CHECK_THROWS_WITH_AS(VadParameters("/nonexistent/vad"), doctest::Contains("/nonexistent/vad"), Error);
  const std::string header = R"({"stft_conv.weight":{"dtype":"F32","shape":[258,1,256],"data_offsets":[0,264192]}})";
  const auto with_length = [](uint64_t n, const std::string& rest) {
    return std::string(reinterpret_cast<const char*>(&n), 8) + rest;
  };
  for (const std::string& bytes :
       {std::string(), std::string("1234567"), with_length(~0ull, "{}"), with_length(3, "{}"), with_length(2, "[]"),
        with_length(2, "{}"), with_length(2, "}{"), with_length(header.size(), header),
        with_length(header.size(), header + std::string(264191, 'x'))}) {
    CHECK(message_for(bytes).find("is not the voice activity model") != std::string::npos);
  }
  const auto path = weights_path();
  if (!path) return;
  std::ifstream file(*path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  CHECK(message_for(whole) == "");
  CHECK(message_for(whole.substr(0, whole.size() - 1)) != "");
  CHECK(message_for(whole.substr(0, 700)) != "");
  std::string changed = whole;
  changed.replace(changed.find("258"), 3, "259");
  CHECK(message_for(changed) != "");
  changed = whole;
  changed.replace(changed.find("264192]"), 7, "-64192]");
  CHECK(message_for(changed) != "");
}

TEST_CASE("segments: thresholds, shortest speech and silence, padding") {
  using List = std::vector<Speech>;
  constexpr int64_t k = kVadChunk;
  CHECK(segments("").empty());
  CHECK(segments("....................").empty());
  // 250 ms is a little less than 8 chunks; an end is the first silent chunk. 30 ms of padding is 480 samples.
  CHECK(segments("....#######..........").empty());
  CHECK(segments("....########..........") == List{{4 * k - 480, 12 * k + 480}});
  CHECK(segments("....#########", {}, 100) == List{{4 * k - 480, 13 * k - 100}});
  CHECK(segments("########..........") == List{{0, 8 * k + 480}});
  // Between the thresholds speech goes on, but doesn't begin.
  CHECK(segments("..--------------........").empty());
  CHECK(segments("..########------........") == List{{2 * k - 480, 16 * k + 480}});
  // Silence parts speech from the fifth silent chunk on (100 ms are over three).
  CHECK(segments("..########....########....") == List{{2 * k - 480, 26 * k}});
  CHECK(segments("..########.....########.....") == List{{2 * k - 480, 10 * k + 480}, {15 * k - 480, 23 * k + 480}});
  CHECK(segments("..########..-..########.....") == List{{2 * k - 480, 10 * k + 480}, {15 * k - 480, 23 * k + 480}});
  // Neighbours share a gap that is shorter than both paddings.
  CHECK(segments("..########.....########.....", {.pad_ms = 200}) ==
        List{{0, 10 * k + 5 * k / 2}, {10 * k + 5 * k / 2, 28 * k}});
}
