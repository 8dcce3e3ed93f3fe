// Decoded frames of any rate, layout and sample format to 16 kHz mono s16, sample for sample as the ffmpeg program's
// `-ac 1 -ar 16000 -acodec pcm_s16le` gives it; except where its mix would lose the sound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/av.h"

namespace sotto {

class Downmix {
 public:
  // Appends to `out`. Frames may change their format at any time. wanted: the channel that is taken instead of the mix,
  // where there is one of that number; -1: the mix.
  Downmix(std::vector<int16_t>& out, int wanted) : out_(out), wanted_(wanted) {}
  ~Downmix() { av_channel_layout_uninit(&layout_); }
  Downmix(const Downmix&) = delete;
  Downmix& operator=(const Downmix&) = delete;

  // The frame's samples from `first` on. Its samples may be cleaned in place.
  void push(av::Frame frame, int64_t first);
  // n zeros at the rate and layout of the frames so far; before the first frame: at those of `like`.
  void push_silence(const AVFrame& like, int64_t n);
  void finish();

  bool used_one_channel() const { return used_one_channel_; }
  int64_t cleaned() const { return cleaned_; }  // samples that were NaN, infinite or absurdly large, now 0

 private:
  struct Piece {
    av::Frame frame;
    int64_t first = 0;
  };
  struct Levels {  // of one block
    std::vector<double> channel;
    double mix = 0.0;
  };

  void adopt(const AVFrame& frame);
  bool fits(const AVFrame& frame) const;
  void queue(av::Frame frame, int64_t first);
  void finish_block();
  void judge(const Levels& levels);
  Levels measure() const;
  void convert(const Piece& piece);
  void open_resampler(int channel);
  void close_resampler();
  void resample(const uint8_t* const* planes, int n);

  std::vector<int16_t>& out_;
  const int wanted_;
  AVSampleFormat format_ = AV_SAMPLE_FMT_NONE;
  int rate_ = 0;
  AVChannelLayout layout_ = {};
  std::vector<double> weights_;  // of each channel in the mix
  av::Resampler resampler_;
  int channel_ = -1;       // taken alone instead of the mix; -1: the mix
  int blocks_in_mix_ = 0;  // blocks in a row whose mix is sound again, while one channel is taken
  std::vector<Piece> block_;
  int64_t block_samples_ = 0;
  bool used_one_channel_ = false;
  int64_t cleaned_ = 0;
};

}  // namespace sotto
