// The options that say how subtitles are laid out, for every command that writes or checks them.
#pragma once

#include <CLI/CLI.hpp>

#include "src/subtitles/style.h"

namespace sotto {

void add_subtitle_options(CLI::App& app, SubtitleOptions& options);

// Throws CLI::ValidationError for values that can't be together.
void check_subtitle_options(const SubtitleOptions& options);

}  // namespace sotto
