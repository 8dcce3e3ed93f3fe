// sotto subtitles, sotto check: subtitles from transcripts that were written before, and what is wrong with subtitles.
#pragma once

#include <string>
#include <vector>

namespace sotto {

// Each takes the words behind its name and gives the exit status. Throws CLI::ParseError and Error.
int subtitles_command(const std::vector<std::string>& words);
int check_command(const std::vector<std::string>& words);

}  // namespace sotto
