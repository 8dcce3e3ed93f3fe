#include "src/live/reference.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "models/error.h"

namespace sotto {
namespace {

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');) all.push_back(field);
  if (!all.empty() && all.back().ends_with('\r')) all.back().pop_back();
  return all;
}

bool ends_with_path(const std::string& path, const std::string& end) {
  return path == end || (!end.empty() && path.ends_with("/" + end));
}

}  // namespace

Table::Table(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) throw Error("the table " + file + " can't be read, or is empty");
  names_ = fields(line);
  if (std::ranges::find(names_, "path") == names_.end())
    throw Error("the table " + file + " has no column 'path'; its first line names the columns, with tabs between them");
  while (std::getline(stream, line)) {
    rows_.push_back(fields(line));
    rows_.back().resize(names_.size());
  }
}

std::vector<std::string> Table::values(const std::string& path, const std::string& column) const {
  const auto place = [this](const std::string& name) { return std::ranges::find(names_, name) - names_.begin(); };
  const auto wanted = place(column);
  std::vector<std::string> found;
  if (wanted == std::ssize(names_)) return found;
  for (const std::vector<std::string>& row : rows_)
    if (ends_with_path(path, row[place("path")])) found.push_back(row[wanted]);
  return found;
}

std::string reference_of(const std::string& path, const std::string& table) {
  if (!table.empty()) {
    const auto texts = Table(table).values(path, "reference");
    if (texts.empty()) throw Error("the table " + table + " has no row for " + path + ", or no column 'reference'");
    return texts.front();
  }
  const std::string beside = std::filesystem::path(path).replace_extension(".txt").string();
  std::ifstream stream(beside);
  if (!stream)
    throw Error(path + " has no text to be measured by: write it into " + beside + ", or name a table by --reference");
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<Word> word_times_of(const std::string& path, const std::string& table) {
  if (table.empty()) return {};
  const Table times(table);
  const auto starts = times.values(path, "start"), ends = times.values(path, "end"), texts = times.values(path, "word");
  std::vector<Word> words;
  for (size_t i = 0; i < std::min({starts.size(), ends.size(), texts.size()}); ++i)
    words.push_back({std::strtod(starts[i].c_str(), nullptr), std::strtod(ends[i].c_str(), nullptr), " " + texts[i], 1});
  return words;
}

}  // namespace sotto
