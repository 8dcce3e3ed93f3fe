#include "src/cli/argument_values.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "models/error.h"

namespace sotto {
namespace {

const std::vector<std::string> kYesNoOptions = {"--fp16", "--verbose", "--condition-on-previous-text",
                                                "--carry-initial-prompt", "--vad", "--word-timestamps",
                                                "--highlight-words", "--karaoke", "--language-per-segment"};

}  // namespace

std::optional<bool> yes_or_no(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0" || word == "none") return false;
  return std::nullopt;
}

bool is_none(const std::string& word) { return word == "None" || word == "none"; }

void refuse(const std::string& option, const std::string& written, const std::string& wanted) {
  throw CLI::ValidationError(option, "'" + written + "' is not " + wanted);
}

void refuse_errors(const std::string& option, const std::function<void()>& take_value) {
  try {
    take_value();
  } catch (const Error& error) {
    throw CLI::ValidationError(option, error.what());
  }
}

double number(const std::string& option, const std::string& written, double low, double high,
              const std::string& wanted) {
  char* end = nullptr;
  const double value = std::strtod(written.c_str(), &end);
  if (end == written.c_str() || *end || !(value >= low && value <= high)) refuse(option, written, wanted);
  return value;
}

int64_t whole_number(const std::string& option, const std::string& written, double low, double high,
                     const std::string& wanted) {
  const double value = number(option, written, low, high, wanted);
  if (value != std::floor(value)) refuse(option, written, wanted);
  return static_cast<int64_t>(value);
}

std::vector<std::string> split(const std::string& written, char separator) {
  std::vector<std::string> parts;
  for (std::string::size_type begin = 0; begin <= written.size();) {
    const auto end = std::min(written.find(separator, begin), written.size());
    parts.push_back(written.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

double time_value(const std::string& option, const std::string& written, const std::string& wanted) {
  const std::vector<std::string> parts = split(written, ':');
  double seconds = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool whole = i + 1 < parts.size();
    const bool digits = !parts[i].empty() && std::isdigit(static_cast<unsigned char>(parts[i][0]));
    if (parts.size() > 3 || !digits || (whole && parts[i].find_first_not_of("0123456789") != std::string::npos))
      refuse(option, written, wanted);
    const double value = number(option, parts[i], 0, i == 0 ? 1e9 : 60, wanted);
    if (i > 0 && value == 60) refuse(option, written, wanted);
    seconds = seconds * 60 + value;
  }
  return seconds;
}

std::vector<std::string> normalised(const std::vector<std::string>& written) {
  std::vector<std::string> normal;
  for (size_t i = 0; i < written.size(); ++i) {
    std::string word = written[i];
    if (word == "--") {
      normal.insert(normal.end(), written.begin() + i, written.end());
      break;
    }
    if (word.starts_with("--")) {
      const auto name_end = word.begin() + std::min(word.find('='), word.size());
      std::replace(word.begin(), name_end, '_', '-');
    }
    if (word == "--no-vad") word = "--vad=False";
    if (std::find(kYesNoOptions.begin(), kYesNoOptions.end(), word) != kYesNoOptions.end()) {
      const bool has_value = i + 1 < written.size() && yes_or_no(written[i + 1]);
      word += has_value ? "=" + written[++i] : "=True";
    }
    normal.push_back(std::move(word));
  }
  return normal;
}

}  // namespace sotto
