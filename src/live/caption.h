// What live captions are made of: the engine (src/live/captioner.h) tells updates, and every output takes them.
//
// Text has two states. What is committed never changes; the tail after it is a guess that the next update replaces.
#pragma once

#include <string>
#include <vector>

#include "src/transcript.h"

namespace sotto {

struct CaptionUpdate {
  double heard_s = 0;            // stream time of the newest sample that this is based on
  double behind_s = 0;           // sound that waits to be listened to; 0 while the machine keeps up
  std::vector<Word> committed;   // words that are new in this state, in order; their times are stream times
  std::vector<Word> tail;        // all the words after them that may yet change
  bool ends_utterance = false;   // the speaker paused after `committed`; the tail is then empty
  std::string language;          // code
};

// Takes updates from one thread, one after the other, and must not block for long: captions wait for it.
class CaptionOutput {
 public:
  virtual ~CaptionOutput() = default;
  virtual void update(const CaptionUpdate& update) = 0;
  // Between updates, some ten times a second: loudness in dB below full scale (-100: digital silence), and whether
  // somebody speaks.
  virtual void level(double heard_s, float level_db, bool speaking) = 0;
  // A sentence for the user: a device that went, samples that were lost.
  virtual void notice(double heard_s, const std::string& sentence) = 0;
  virtual void finish() = 0;     // no more will come
};

}  // namespace sotto
