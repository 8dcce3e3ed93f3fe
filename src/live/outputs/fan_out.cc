#include "src/live/outputs/fan_out.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "models/error.h"

namespace sotto {
namespace {

struct Level {
  double heard_s;
  float level_db;
  bool speaking;
};
struct Notice {
  double heard_s;
  std::string sentence;
};
struct End {};
using Message = std::variant<CaptionUpdate, Level, Notice, End>;

// Whether a later message can be taken into one that still waits.
bool merge(Message& waiting, Message& message) {
  if (auto* level = std::get_if<Level>(&message)) {
    if (auto* before = std::get_if<Level>(&waiting)) *before = *level;
    return std::holds_alternative<Level>(waiting) || std::holds_alternative<CaptionUpdate>(waiting);
  }
  auto* update = std::get_if<CaptionUpdate>(&message);
  auto* before = std::get_if<CaptionUpdate>(&waiting);
  if (!update || !before || before->ends_utterance || before->language != update->language) return false;
  before->committed.insert(before->committed.end(), update->committed.begin(), update->committed.end());
  update->committed = std::move(before->committed);
  *before = std::move(*update);
  return true;
}

}  // namespace

// An output with its thread, and what waits for it.
class FanOut::Lane {
 public:
  using Tell = std::function<void(double heard_s, const std::string& sentence)>;

  Lane(std::unique_ptr<CaptionOutput> output, Tell tell)
      : output_(std::move(output)), tell_(std::move(tell)), thread_([this] { run(); }) {}

  void push(Message message) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = std::holds_alternative<End>(message);
    if (waiting_.empty() || !merge(waiting_.back(), message)) waiting_.push_back(std::move(message));
    changed_.notify_one();
  }

  // What its output threw at the end.
  std::optional<Error> join() {
    if (thread_.joinable()) thread_.join();
    return std::exchange(trouble_, std::nullopt);
  }

 private:
  void run() {
    for (bool goes_on = true; goes_on;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !waiting_.empty(); });
      const Message message = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      goes_on = !std::holds_alternative<End>(message);
      try {
        give(message);
      } catch (const Error& error) {
        // Of trouble with a notice nobody is told: two outputs that fail would tell each other for ever.
        if (!goes_on) trouble_ = error;
        else if (!std::holds_alternative<Notice>(message)) tell_(heard_s_, error.what());
      }
    }
  }

  void give(const Message& message) {
    if (const auto* update = std::get_if<CaptionUpdate>(&message)) {
      heard_s_ = update->heard_s;
      output_->update(*update);
    } else if (const auto* level = std::get_if<Level>(&message)) {
      heard_s_ = level->heard_s;
      output_->level(level->heard_s, level->level_db, level->speaking);
    } else if (const auto* notice = std::get_if<Notice>(&message)) {
      output_->notice(notice->heard_s, notice->sentence);
    } else {
      output_->finish();
    }
  }

  const std::unique_ptr<CaptionOutput> output_;
  const Tell tell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> waiting_;
  bool ended_ = false;
  double heard_s_ = 0;            // the thread's
  std::optional<Error> trouble_;  // likewise, until it ends
  std::thread thread_;   // the last: it needs the others
};

FanOut::FanOut(std::vector<std::unique_ptr<CaptionOutput>> outputs) {
  // Lanes tell each other what went wrong, from their threads: the list is as long as it will be before any of them runs.
  lanes_.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    lanes_[i] = std::make_unique<Lane>(std::move(outputs[i]),
                                       [this](double heard_s, const std::string& sentence) { notice(heard_s, sentence); });
}

FanOut::~FanOut() {
  try {
    finish();
  } catch (const Error&) {  // whoever wanted to know has called finish
  }
}

void FanOut::update(const CaptionUpdate& update) {
  for (const auto& lane : lanes_) lane->push(update);
}

void FanOut::level(double heard_s, float level_db, bool speaking) {
  for (const auto& lane : lanes_) lane->push(Level{heard_s, level_db, speaking});
}

void FanOut::notice(double heard_s, const std::string& sentence) {
  for (const auto& lane : lanes_) lane->push(Notice{heard_s, sentence});
}

void FanOut::finish() {
  for (const auto& lane : lanes_) lane->push(End{});
  std::optional<Error> first;
  for (const auto& lane : lanes_)
    if (const auto trouble = lane->join(); trouble && !first) first = trouble;
  if (first) throw *first;
}

}  // namespace sotto
