// The parser of arguments.h: its options by what they are for (argument_groups.cc), and what they come to together
// (arguments.cc).
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/argument_values.h"
#include "src/cli/arguments.h"

namespace sotto {

// What it can't put into Arguments before everything was read is in its own members.
class ArgumentParser {
 public:
  std::optional<Arguments> parse(const std::vector<std::string>& written);
  std::optional<Arguments> parse_align(const std::vector<std::string>& written);

 private:
  bool read(const std::vector<std::string>& written);  // false: help was asked for
  void add_language();
  void add_model();
  void add_output();
  void add_what();
  void add_voice_activity();
  void add_words();
  void add_sound();
  void add_sampling();
  void add_thresholds();
  void add_prompt();
  void add_running();
  void take_channels(const std::string& written);
  void take_device(const std::string& written);
  [[noreturn]] void refuse_unknown(const std::string& unknown, const std::vector<std::string>& written) const;
  void settle();
  void settle_output();
  void settle_redo();
  void settle_running();

  // An option whose value is handed to `set` as it was written.
  CLI::Option* option(const std::string& names, const std::string& value, const std::string& help,
                      const std::function<void(const std::string&)>& set) {
    return app_.add_option_function<std::string>(names, set, help)->type_name(value)->group(group_);
  }
  // One that is on or off, and is on when it has no value.
  void yes_no(const std::string& name, const std::string& help, bool& target) {
    option(name, "True|False", help, [name, &target](const std::string& written) {
      const auto value = yes_or_no(written);
      if (!value) refuse(name, written, "True or False");
      target = *value;
    });
  }
  // One of some words.
  CLI::Option* one_of(const std::string& name, const std::vector<std::string>& words, const std::string& help,
                      std::string& target) {
    const std::string all = CLI::detail::join(words, "|");
    return option(name, all, help, [=, &target](const std::string& written) {
      if (std::find(words.begin(), words.end(), written) == words.end()) refuse(name, written, "one of " + all);
      target = written;
    });
  }
  // A number, or None.
  void threshold(const std::string& name, double low, double high, const std::string& wanted, const std::string& help,
                 std::optional<double>& target) {
    option(name, "NUMBER", help, [=, &target](const std::string& written) {
      target = is_none(written) ? std::nullopt : std::optional(number(name, written, low, high, wanted + ", or None"));
    });
  }

  CLI::App app_{"Turns the speech in sound and video files into text with times.", "sotto transcribe"};
  std::string group_;
  Arguments arguments_;
  double temperature_ = 0;
  std::optional<double> increment_ = 0.2;
  bool writes_files_ = false;
  std::string mode_ = "sequential";
  int batch_size_ = 0;  // as many as fit
  std::optional<bool> words_wanted_;
  std::vector<std::string> redo_;
  bool fp16_ = true;  // likewise
};

}  // namespace sotto
