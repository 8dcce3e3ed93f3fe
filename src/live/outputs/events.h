// What happens to captions, as JSON: the same for a file of lines and for clients of the server.
//
//   {"event":"committed","heard":7.2,"behind":0,"language":"en","text":" Good morning.","words":[…],"ends_utterance":true}
//   {"event":"partial","heard":7.4,"behind":0,"language":"en","text":" How are","words":[…]}
//   {"event":"notice","heard":9.1,"text":"The microphone is gone."}
//   {"event":"end","heard":60}
//   {"event":"refined","heard":4.5,"behind":0,"language":"en","text":" Good morning.","words":[…]}    after --refine
//   {"event":"state","heard":9.1,"events":[…]}    the server's first: the last committed events, and the tail
//
// Each partial event takes the place of the one before; a committed one ends it. A word is
// {"word":" Good","start":6.4,"end":6.6,"probability":0.98}; times are seconds of the stream. A text is its words' texts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/live/caption.h"

namespace sotto {

struct Event {
  enum class Kind { committed, partial, notice, end, state };
  Kind kind;
  std::string json;  // one line without its end, in valid UTF-8, and without control characters
};

Event notice_event(double heard_s, const std::string& sentence);
Event end_event(double heard_s);

// A transcript of the whole session, in lines: a refined event for each segment, then the end.
std::string refined_lines(const Transcript& transcript);
Event state_event(double heard_s, std::span<const std::string> events);  // as JSON

// The events that an update makes: what is committed, then the tail where it isn't what it was.
class EventMaker {
 public:
  std::vector<Event> take(const CaptionUpdate& update);

 private:
  std::string tail_;  // text of the last partial event; "" behind a committed one
};

}  // namespace sotto
