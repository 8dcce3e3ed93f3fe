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

#include "audio/speech_finder.h"
#include "audio/vad_weights.h"
#include "models/catalog.h"
#include "models/dims.h"
#include "models/error.h"

using namespace sotto;
namespace fs = std::filesystem;

namespace {

std::optional<std::string> weights_path() {
  const char* folder = std::getenv("SOTTO_TEST_MODELS");
  const std::string path = std::string(folder ? folder : "") + "/silero_vad_16k_op15.onnx";
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
  const std::pair<int, double> wanted[] = {{0, 0.04251},  {1, 0.01625},  {7, 0.02013},  {12, 0.00283}, {15, 0.02132},
                                           {16, 0.90116}, {18, 0.99519}, {38, 0.87479}, {40, 0.61537}, {41, 0.80783},
                                           {54, 0.99995}, {68, 0.96228}, {69, 0.78366}, {70, 0.40050}, {71, 0.10905},
                                           {75, 0.01268}, {84, 0.03482}, {86, 0.03460}, {87, 0.00487}};
  for (const auto& [chunk, probability] : wanted) {
    CAPTURE(chunk);
    CHECK(got[chunk] == doctest::Approx(probability).scale(10).epsilon(1e-5));
  }
  const std::vector<Speech> found = speech_segments(got, std::ssize(sound));
  CHECK(found == std::vector<Speech>{{16 * kVadChunk - 480, 71 * kVadChunk + 480}});
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
  const auto path = weights_path();
  if (!path) return;
  std::ifstream file(*path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  CHECK(message_for(whole) == "");
  for (const size_t size : {size_t{1}, size_t{2}, size_t{40}, size_t{700}, whole.size() / 2, whole.size() - 1}) {
    CHECK(message_for(whole.substr(0, size)).find("is not the voice activity model") != std::string::npos);
  }
  const auto changed = [&whole](const std::string& from, const std::string& to) {
    std::string bytes = whole;
    bytes.replace(bytes.find(from), from.size(), to);
    return message_for(bytes);
  };
  // 512 of them, f32, and the name with its length.
  const std::string biases = "\x08\x80\x04\x10\x01\x42\x19model.decoder.rnn.bias_hh";
  CHECK(changed(biases, biases) == "");
  CHECK(changed(biases, "\x08\x80\x04\x10\x01\x42\x19model.decoder.rnn.bias_xx") != "");
  CHECK(changed(biases, "\x08\x80\x04\x10\x0b\x42\x19model.decoder.rnn.bias_hh") != "");
  CHECK(changed(biases, "\x08\x81\x04\x10\x01\x42\x19model.decoder.rnn.bias_hh") != "");
}

// What a damaged file may hold: lengths that lead out of it, numbers without an end, unknown kinds of fields.
TEST_CASE("a malformed file of weights is refused, whatever its bytes") {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {"x"s, "\x3a"s, "\x3a\x05\x2a\x09zz"s, "\x3a\x04\x2a\x02\x42\x7f"s, "\x0f"s, std::string(40, '\xff'),
        "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "\x09"s, "\x0d\x01"s, "\x08\x07"s}) {
    CHECK(message_for(bytes).find("is not the voice activity model") != std::string::npos);
  }
  std::mt19937 bits(1);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = "\x3a\x30\x2a\x2e"s;
    for (int k = 0; k < 60; ++k) bytes += static_cast<char>(bits());
    CHECK(message_for(bytes) != "");
  }
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
