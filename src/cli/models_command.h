// sotto models list | fetch | info | remove
#pragma once

#include <CLI/CLI.hpp>

namespace sotto {

// Adds the subcommand "models". Its work is done in callbacks while CLI11 parses; they throw sotto::Error.
void add_models_command(CLI::App& app);

}  // namespace sotto
