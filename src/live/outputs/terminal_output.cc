#include "src/live/outputs/terminal_output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "models/error.h"
#include "src/live/outputs/sentences.h"
#include "src/subtitles/columns.h"
#include "src/writers.h"

namespace sotto {
namespace {

constexpr int kColumns = 42;       // of a line of captions, as in subtitles
constexpr size_t kLines = 2;
constexpr int kMargin = 1;         // the cursor's column
constexpr int kMeterCells = 10;
constexpr float kFloor_db = -60;   // of the meter
constexpr std::string_view kDim = "\033[2m", kNormal = "\033[0m", kClearLine = "\033[K", kClearBelow = "\033[J";

// Eighths of a cell.
constexpr std::array<std::string_view, 9> kBlocks = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

std::string meter(float level_db) {
  const float share = std::clamp(1 - level_db / kFloor_db, 0.0f, 1.0f);
  int eighths = static_cast<int>(std::lround(share * kMeterCells * 8));
  std::string cells;
  for (int i = 0; i < kMeterCells; ++i, eighths -= 8) cells += kBlocks[static_cast<size_t>(std::clamp(eighths, 0, 8))];
  return cells;
}

std::string with_decimal(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::clamp(seconds, 0.0, 1e6));
  return text;
}

// As much of a text as so many columns hold. Block characters count as two: where the language is Chinese, Japanese or
// Korean they may take as many.
std::string cut(std::string_view text, int columns) {
  std::string out;
  for (const Grapheme& grapheme : graphemes_of(text)) {
    const bool ambiguous = grapheme.bytes.size() > 1 && grapheme.columns == 1;
    columns -= ambiguous ? 2 : grapheme.columns;
    if (columns < 0) break;
    out += grapheme.bytes;
  }
  return out;
}

}  // namespace

void TerminalPicture::take(const CaptionUpdate& update) {
  text_.take(update);
  status_.heard_s = std::max(status_.heard_s, update.heard_s);
  status_.behind_s = update.behind_s;
}

void TerminalPicture::take(double heard_s, float level_db, bool speaking) {
  status_.heard_s = std::max(status_.heard_s, heard_s);
  status_.level_db = level_db;
  status_.speaking = speaking;
}

void TerminalPicture::take(const std::string& notice) {
  RollUp sentence;  // makes of it what a terminal can bear
  Word word;
  word.text.append("(").append(rough_time(status_.heard_s)).append(") ").append(notice);
  sentence.take({.committed = {word}, .ends_utterance = true});
  for (const RollUp::Line& line : sentence.lines(size_.value_or(TerminalSize()).columns - kMargin))
    gone_.push_back(std::string(kDim) + line.committed + std::string(kNormal));
}

std::string TerminalPicture::status_row(int columns) const {
  std::string text = status_.speaking ? "● " : "○ ";
  text += meter(status_.level_db) + "  " + rough_time(status_.heard_s);
  if (status_.behind_s >= 0.1) text += "  behind by " + with_decimal(status_.behind_s);
  return std::string(kDim) + cut(text, columns) + std::string(kNormal);
}

std::vector<std::string> TerminalPicture::rows(const TerminalSize& size) {
  if (size.columns < kMargin + 2) return {""};  // not even one character of two columns
  const int columns = std::min(size.columns - kMargin, kColumns);
  const size_t n_lines = std::min<size_t>(kLines, std::max(size.rows - 1, 1));
  for (std::string& line : text_.leave(columns, n_lines)) gone_.push_back(std::move(line));
  std::vector<RollUp::Line> lines = text_.lines(columns);
  if (lines.size() > n_lines) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(n_lines));
  std::vector<std::string> rows;
  for (const RollUp::Line& line : lines) {
    std::string row = line.committed;
    if (!line.tail.empty()) row += std::string(kDim) + line.tail + std::string(kNormal);
    rows.push_back(std::move(row));
  }
  if (size.rows > static_cast<int>(n_lines)) {  // the meter stays where it is, however much text there is
    rows.resize(n_lines);
    rows.push_back(status_row(size.columns - kMargin));
  }
  return rows.empty() ? std::vector<std::string>{""} : rows;
}

std::string TerminalPicture::draw(const TerminalSize& size) {
  const bool resized = size_ && (size_->columns != size.columns || size_->rows != size.rows);
  const std::vector<std::string> rows = this->rows(size);
  if (!resized && gone_.empty() && rows == drawn_) return "";
  std::string out;
  if (resized) out.append("\r").append(kClearBelow);
  const std::string margin(kMargin, ' ');
  for (const std::string& row : gone_) out.append("\r").append(kClearLine).append(margin).append(row).append("\n");
  for (size_t i = 0; i < rows.size(); ++i) {  // cleared first: behind a full row that would take its last character
    out.append(i > 0 ? "\n\r" : "\r").append(i + 1 < rows.size() ? kClearLine : kClearBelow);
    if (!rows[i].empty()) out.append(margin).append(rows[i]);
  }
  if (rows.size() > 1) out.append("\033[").append(std::to_string(rows.size() - 1)).append("A");
  gone_.clear();
  drawn_ = rows;
  size_ = size;
  return out + "\r";
}

std::string TerminalPicture::finish(const TerminalSize& size) {
  text_.drop_tail();
  const int columns = std::clamp(size.columns - kMargin, 2, kColumns);
  std::string out = "\r";
  out += kClearBelow;
  for (RollUp::Line& line : text_.lines(columns)) gone_.push_back(std::move(line.committed));
  for (const std::string& row : gone_) out.append(kMargin, ' ').append(row).append("\n\r");
  gone_.clear();
  drawn_.clear();
  text_ = RollUp();
  return out;
}

TerminalOutput::TerminalOutput(int terminal) : terminal_(terminal) {
  termios settings;
  const bool in_front = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();  // from behind, the settings aren't ours
  if (!in_front || ::tcgetattr(STDIN_FILENO, &settings) != 0) return;
  before_ = settings;
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

TerminalOutput::~TerminalOutput() {
  if (before_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

void TerminalOutput::update(const CaptionUpdate& update) {
  picture_.take(update);
  write(picture_.draw(size()));
}

void TerminalOutput::level(double heard_s, float level_db, bool speaking) {
  picture_.take(heard_s, level_db, speaking);
  write(picture_.draw(size()));
}

void TerminalOutput::notice(double, const std::string& sentence) {
  picture_.take(sentence);
  write(picture_.draw(size()));
}

void TerminalOutput::finish() { write(picture_.finish(size())); }

// Asked every time: a resize needs no signal of its own, the level comes ten times a second.
TerminalSize TerminalOutput::size() const {
  winsize window = {};
  if (::ioctl(terminal_, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {window.ws_col, window.ws_row};
}

void TerminalOutput::write(const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(terminal_, bytes.data() + done, bytes.size() - done);
    if (written > 0) done += static_cast<size_t>(written);
    else if (errno == EINTR) continue;
    else if (std::exchange(failing_, true)) return;
    else throw Error("the terminal can't be written to: " + std::generic_category().message(errno));
  }
  failing_ = false;
}

}  // namespace sotto
