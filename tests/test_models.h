// Weights and speech that tests use where they are there.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "models/catalog.h"

// Debian's package pocketsphinx-testdata.
constexpr char kTestSpeech[] = "/usr/share/pocketsphinx/test/data";

// The path of "base" or "tiny.en" in $SOTTO_TEST_MODELS, or where `sotto models fetch` puts it; none: not here.
inline std::optional<std::string> test_model(const std::string& name) {
  const char* folder = std::getenv("SOTTO_TEST_MODELS");
  const std::string path = (folder ? std::string(folder) : sotto::sotto_home() + "/models") + "/" + name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}
