// Files that grow while they are read.
#pragma once

#include <string>
#include <string_view>

namespace sotto {

// A text file that grows by whole records. Each comes with one write; with `parted_by_blank_lines` none crosses a page
// of memory, so that a kill leaves it there whole or not at all, and no reader sees a part of it: a system writes within
// a page at once, but may stop between two. Blank lines fill up what is left of a page, one in about fifty cues. (On a
// file system that loses power only what it had on disk is left, by whole pages.)
// A disk that is full costs nothing but time: what couldn't be written is kept, and written when there is room.
class GrowingFile {
 public:
  enum class Records { parted_by_blank_lines, lines };

  // The file is made anew, with its folder, and is never without its header. Takes pipes and devices, too. "-" is
  // standard output. Throws Error.
  GrowingFile(const std::string& path, std::string_view header, Records records);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Throws Error when it can't be written; not again before it could.
  void append(std::string_view record);

  void finish();  // tries a last time; throws Error if something is still missing

 private:
  int write_waiting();  // an error's number, or 0

  std::string path_;
  int fd_ = -1;
  bool regular_ = false, failing_ = false;
  Records records_;
  size_t size_ = 0;      // of whole records; of a regular file
  std::string waiting_;  // records that couldn't be written
};

}  // namespace sotto
