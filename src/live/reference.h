// What is said in a clip, and when, as others have written it down.
#pragma once

#include <string>
#include <vector>

#include "src/transcript.h"

namespace sotto {

// Rows of tab-separated text under a line of names, found by the column `path`: a row belongs to a file whose path ends
// with it.
class Table {
 public:
  explicit Table(const std::string& file);  // throws Error

  // The values of a column in all rows of a file; none where there is no such column.
  std::vector<std::string> values(const std::string& path, const std::string& column) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> rows_;
};

// The text of a file: the column `reference` of a table, or without one (empty) the text in FILE.txt beside FILE.wav.
// Throws Error where there is none.
std::string reference_of(const std::string& path, const std::string& table);

// Words with their times, from the columns start, end (seconds) and word of a table; none where it has none of the file.
std::vector<Word> word_times_of(const std::string& path, const std::string& table);

}  // namespace sotto
