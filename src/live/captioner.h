// Live captions: sound in, updates out. Start reading here.
//
//   sound ─▶ SpeechGate ─▶ LiveWindow ─▶ encode, decode behind what is committed ─▶ Guess ─▶ committable ─▶ CaptionUpdate
//
// Every pass looks at the whole window anew. What it says of sound that lies far enough from the end, or what two passes
// agree on, is committed, and given to the passes to come as text that stands. The rest is the tail. A window goes on over
// pauses: words that it begins with are heard worse than those that come after others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/language.h"
#include "src/live/caption.h"
#include "src/live/guess.h"
#include "src/live/live_window.h"
#include "src/live/speech_gate.h"
#include "src/options.h"
#include "src/prompt.h"
#include "src/transcribe.h"
#include "src/word_split.h"

namespace sotto {

struct LiveOptions {
  TranscribeOptions text;    // language, prompt, suppressed tokens, thresholds; the rest is for files
  GateSettings gate;
  CommitRules commit;
  int chunks_a_pass = 10;    // passes end at multiples of so many chunks of sound (kVadChunk), however fast the machine is
};

class Captioner {
 public:
  // listen: probability of speech in each whole chunk of kVadChunk samples that follow each other (Vad::push).
  using Listen = std::function<std::vector<float>(std::span<const float>)>;

  // All must live as long as this. Throws Error for options that don't fit the model.
  Captioner(Engine& engine, Listen listen, const LiveOptions& options, CaptionOutput& output);

  // The sound that was captured since the last call. At most one pass runs on what goes on; while it runs, sound gathers
  // and comes with the next call: passes are skipped, not queued. waiting_s: tells how much has gathered meanwhile.
  void hear(std::span<const float> samples, const std::function<double()>& waiting_s);

  void finish();  // no more sound: says what is left of it

  bool speaking() const { return gate_.speaking(); }
  double heard_s() const;
  int n_passes() const { return n_passes_; }

 private:
  enum class Goes { on, to_its_end };  // the utterance
  void take_chunk(std::span<const float> chunk, float probability, bool more);
  void note_quiet(float probability);
  double keeps_s() const;
  void restart(int64_t sample);
  void pass(Goes goes);
  Guess look(int n_frames);
  Guess look(int n_frames, bool may_be_nothing);
  size_t look_again(int n_frames, std::vector<GuessedWord>& words, size_t n);
  Settings settings(int n_frames) const;
  std::vector<GuessedWord> words_in(const Guess& guess) const;
  bool is_silence(const Guess& guess) const;
  void find_language(Goes goes);
  void commit(std::vector<GuessedWord>& words, size_t n);
  void make_room(int n_frames);
  int64_t place_to_cut(std::span<const WordTokens> words, const std::vector<double>& times_s) const;
  std::vector<double> said_times_s(int n_frames);
  Word timed(std::span<const GuessedWord> words, size_t i) const;
  void tell(CaptionUpdate update);
  std::vector<int> prompt() const;

  Engine& engine_;
  const Listen listen_;
  const LiveOptions options_;
  CaptionOutput& output_;
  const Spoken spoken_;
  std::shared_ptr<const TokenSet> suppress_;

  std::vector<float> waiting_;          // less than a chunk
  SpeechGate gate_;
  LiveWindow window_;
  Mel mel_;
  int64_t passed_ = 0;                  // end of the sound that the last pass looked at
  int n_quiet_ = 0;                     // chunks of silence in a row
  std::vector<int64_t> quiet_;          // samples in the window at which it was quiet

  PromptHistory history_;
  std::string language_;                // of the utterance
  bool language_open_;                  // it is yet to be found
  LanguageVote vote_;
  std::vector<int> said_;               // tokens committed in the window
  std::vector<GuessedWord> tail_;       // of the last pass
  std::vector<Word> new_words_;         // committed, not yet told
  double said_until_s_ = 0;
  int n_passes_ = 0;
  const std::function<double()>* waiting_s_ = nullptr;
};

}  // namespace sotto
