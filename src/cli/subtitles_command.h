// sotto subtitles, check, retime: subtitles from transcripts that were written before, what is wrong with subtitles, and
// subtitles moved in time.
#pragma once

#include <string>
#include <vector>

namespace sotto {

// Each takes the words behind its name and gives the exit status. Throws CLI::ParseError and Error.
int subtitles_command(const std::vector<std::string>& words);
int check_command(const std::vector<std::string>& words);
int retime_command(const std::vector<std::string>& words);

}  // namespace sotto
