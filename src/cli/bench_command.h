// sotto bench: the machine's limits, each stage's time and its share of the limit.
#pragma once

#include <CLI/CLI.hpp>

namespace sotto {

// Adds the subcommand "bench". Its work is done in a callback while CLI11 parses; it throws sotto::Error.
void add_bench_command(CLI::App& app);

}  // namespace sotto
