#include "src/view/view.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "audio/decode.h"
#include "audio/encode.h"
#include "models/dims.h"
#include "models/utf8.h"
#include "src/coverage.h"
#include "src/writers/text.h"

extern "C" const char sotto_view_page[], sotto_view_page_end[];

namespace sotto {
namespace {

constexpr int kPeakSamples = kSampleRate / 50;

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) { return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u; };
    const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (int k = 0; k < 4; ++k) out += i + static_cast<size_t>(k) > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
  }
  return out;
}

double seconds(double s) { return static_cast<double>(Span::to_ms(s)) / 1000; }

nlohmann::ordered_json json_of(const Segment& segment) {
  nlohmann::ordered_json json = {{"start", seconds(segment.start_s)}, {"end", seconds(segment.end_s)},
                                 {"text", lines_of(segment.text, " ")}};
  if (!segment.speaker.empty()) json["speaker"] = lines_of(segment.speaker, " ");
  auto& words = json["words"] = nlohmann::ordered_json::array();
  for (const Word& word : segment.words)
    words.push_back({{"word", valid_utf8(word.text)}, {"start", seconds(word.start_s)}, {"end", seconds(word.end_s)},
                     {"probability", std::round(word.probability * 1000.0) / 1000}});
  return json;
}

// Puts a text in the place of "{{name}}".
void fill(std::string& page, std::string_view name, const std::string& text) {
  const std::string mark = "{{" + std::string(name) + "}}";
  page.replace(page.find(mark), mark.size(), text);
}

}  // namespace

ViewSound listen(const std::string& path, bool with_sound) {
  Decoder decoder(path, {});
  ViewSound sound;
  float peak = 0;
  int64_t n = 0;
  const auto end_peak = [&] {
    sound.peaks += static_cast<char>(std::lround(255 * std::min(peak, 1.0f)));
    peak = 0;
  };
  const auto read = [&](Pcm& pcm) {
    if (!decoder.read(pcm)) return false;
    for (const float sample : pcm.samples) {
      peak = std::max(peak, std::abs(sample));
      if (++n % kPeakSamples == 0) end_peak();
    }
    return true;
  };
  if (with_sound) {
    sound.encoded = encode_opus(read);
    sound.type = kOpusType;
  } else {
    Pcm pcm;
    while (read(pcm)) continue;
  }
  if (n % kPeakSamples != 0) end_peak();
  sound.duration_s = static_cast<double>(n) / kSampleRate;
  return sound;
}

std::string view_page(const Transcript& transcript, const ViewSound& sound) {
  const std::string name = valid_utf8(std::filesystem::path(transcript.audio).filename().string());
  nlohmann::ordered_json data = {{"name", name}, {"language", transcript.language}, {"model", transcript.model},
                                 {"duration", seconds(std::max(sound.duration_s, transcript.duration_s))}};
  data["segments"] = nlohmann::ordered_json::array();
  for (const Segment& segment : transcript.segments)
    if (!lines_of(segment.text, " ").empty()) data["segments"].push_back(json_of(segment));
  data["coverage"] = nlohmann::ordered_json::array();
  for (const Coverage::Stretch& stretch : transcript.coverage.stretches)
    data["coverage"].push_back({{"start", seconds(stretch.start_s)}, {"end", seconds(stretch.end_s)},
                                {"kind", sotto::name(stretch.fate)}});
  data["peaks"] = base64(sound.peaks);
  data["link"] = sound.link;
  data["type"] = sound.type;
  data["audio"] = base64(sound.encoded);
  std::string page(sotto_view_page, static_cast<size_t>(sotto_view_page_end - sotto_view_page));
  // The last one first: what is filled in may itself look like a mark. No "<" can end the script that the data is in.
  fill(page, "data", escaped(data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), {{"<", "\\u003c"}}));
  fill(page, "title", xml_escaped(lines_of(name, " ")));
  fill(page, "language", xml_escaped(transcript.language == "unknown" ? "" : lines_of(transcript.language, " ")));
  return page;
}

std::string link_to(const std::string& path, const std::string& folder_of_page) {
  namespace fs = std::filesystem;
  const std::string relative =
      fs::proximate(fs::absolute(path), fs::absolute(folder_of_page.empty() ? "." : folder_of_page)).generic_string();
  const bool absolute = relative.starts_with('/');
  std::string link = absolute ? "file://" : "./";
  for (const char c : relative) {
    constexpr char kHex[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) || std::string_view("-._~/").find(c) != std::string_view::npos;
    link += plain ? std::string(1, c) : std::string{'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return link;
}

}  // namespace sotto
