// Values of options as they are written on a command line. What can't be understood is a CLI::ValidationError.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sotto {

std::optional<bool> yes_or_no(std::string word);
bool is_none(const std::string& word);  // "None", as openai-whisper has it

[[noreturn]] void refuse(const std::string& option, const std::string& written, const std::string& wanted);

// Runs what throws Error for a value that can't be.
void refuse_errors(const std::string& option, const std::function<void()>& take_value);

double number(const std::string& option, const std::string& written, double low, double high,
              const std::string& wanted);
int64_t whole_number(const std::string& option, const std::string& written, double low, double high,
                     const std::string& wanted);

std::vector<std::string> split(const std::string& written, char separator);

// Seconds of "90", "90.5", "1:30" or "1:01:30".
double time_value(const std::string& option, const std::string& written, const std::string& wanted);
inline constexpr const char* kTime = "a time in seconds or as [hh:]mm:ss, from 0 on";

// Brings each option to the form that one parser reads: '_' in a name becomes '-', and a yes-or-no option gets its
// value attached ("--fp16 False" and "--no-vad" become "--fp16=False" and "--vad=False").
std::vector<std::string> normalised(const std::vector<std::string>& written);

}  // namespace sotto
