// What a transcription is: the types that the writers take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sotto {

struct Word {
  double start_s = 0, end_s = 0;
  std::string text;  // with its leading space
  float probability = 0;
};

struct Segment {
  int id = 0;
  int64_t seek = 0;            // frame (10 ms) at which its window starts
  double start_s = 0, end_s = 0;
  std::string text;            // with its leading space, as the reference has it
  std::vector<int> tokens;     // with its timestamp tokens
  float temperature = 0, avg_log_prob = 0, compression_ratio = 0, no_speech_prob = 0;
  std::vector<Word> words;     // empty without word timestamps
  std::string speaker;         // empty: not known
  std::string language;        // code, where not all have the same; else empty
};

enum class Fate { transcribed, silence, skipped, low_confidence, failed };

// What became of a sound: stretches that follow each other from 0 to its end.
struct Coverage {
  struct Stretch {
    double start_s = 0, end_s = 0;
    Fate fate = Fate::silence;
  };
  std::vector<Stretch> stretches;
  double heard_s = 0;  // of speech; 0 where nobody listened
  double lost_s = 0;   // of that, what failed to become text
  int n_gaps = 0;      // in which it did
};

struct Transcript {
  std::string audio;           // path as given
  std::string model, device;   // of the engine
  std::string language;        // code
  std::optional<double> language_probability;  // none: it wasn't detected
  double duration_s = 0;       // where the sound, or the stretch of it that was wanted, ends
  std::vector<Segment> segments;
  Coverage coverage;

  std::string text() const;    // of all segments, stripped
};

}  // namespace sotto
