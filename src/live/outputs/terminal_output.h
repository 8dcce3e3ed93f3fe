// Captions on a terminal: two lines that roll up, the tail dimmed, and below them a level meter. What rolls off the top
// stays on the screen above, and in what can be scrolled back to, once and for all.
#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <vector>

#include "src/live/caption.h"
#include "src/live/outputs/roll_up.h"

namespace sotto {

struct TerminalSize {
  int columns = 80, rows = 24;
};

// What to write to a terminal so that it shows captions. The lines that may change are the lowest ones with something on
// them; between two calls the cursor stands at the first of them, in a column that stays empty. So whatever a resize does
// to lines (some terminals cut them, some wrap them anew), clearing from the cursor on takes away all that was drawn and
// nothing else.
class TerminalPicture {
 public:
  struct Status {
    double heard_s = 0, behind_s = 0;
    float level_db = -100;
    bool speaking = false;
  };

  void take(const CaptionUpdate& update);
  void take(double heard_s, float level_db, bool speaking);
  void take(const std::string& notice);

  std::string draw(const TerminalSize& size);  // empty: nothing changed
  std::string finish(const TerminalSize& size);

 private:
  std::vector<std::string> rows(const TerminalSize& size);
  std::string status_row(int columns) const;

  RollUp text_;
  Status status_;
  std::vector<std::string> gone_;   // rows to leave above, before the next picture
  std::vector<std::string> drawn_;
  std::optional<TerminalSize> size_;
};

class TerminalOutput : public CaptionOutput {
 public:
  // terminal: a file descriptor that outlives this. What is typed isn't shown while this is there: it would move the
  // cursor.
  // Writing throws Error, once.
  explicit TerminalOutput(int terminal);
  ~TerminalOutput() override;

  void update(const CaptionUpdate& update) override;
  void level(double heard_s, float level_db, bool speaking) override;
  void notice(double heard_s, const std::string& sentence) override;
  void finish() override;

 private:
  TerminalSize size() const;
  void write(const std::string& bytes);

  const int terminal_;
  TerminalPicture picture_;
  bool failing_ = false;
  std::optional<termios> before_;  // of standard input
};

}  // namespace sotto
