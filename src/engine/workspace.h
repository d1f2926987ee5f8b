// The one owner of memory of a solve: hands out spans, grows in steps, and allocates nothing once it is warm.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>
#include "view.h"

namespace pliant {

class Workspace {
 public:
  // n numbers, not initialised, aligned to cache lines; they live until `reset` or the `release` of an earlier mark.
  template <class T>
  View<T> take(std::integral auto count) {
    const auto n = static_cast<std::size_t>(count);
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= line);
    const std::size_t lines = (n * sizeof(T) + line - 1) / line;
    if (chunks_.empty() || used_ + lines > chunks_[current_].lines) next_chunk(lines);
    T* first = static_cast<T*>(static_cast<void*>(chunks_[current_].memory.get() + used_));
    used_ += lines;
    return {first, static_cast<int>(n)};
  }
  template <class T>
  View<T> filled(std::integral auto count, T value) {
    View<T> s = take<T>(count);
    std::uninitialized_fill(s.begin(), s.end(), value);
    return s;
  }

  struct Mark {
    std::size_t chunk, used;
  };
  Mark mark() const { return {current_, used_}; }
  void release(Mark m) {
    current_ = m.chunk;
    used_ = m.used;
  }

  // Forgets everything handed out. What did not fit into one chunk will next time.
  void reset() {
    if (chunks_.size() > 1) {
      std::size_t total = 0;
      for (const Chunk& c : chunks_) total += c.lines;
      chunks_.clear();
      add_chunk(total);
    }
    current_ = used_ = 0;
  }

  std::size_t allocations() const { return allocations_; }

 private:
  static constexpr std::size_t line = 64;
  struct alignas(line) Line {
    std::byte bytes[line];
  };
  struct Chunk {
    std::unique_ptr<Line[]> memory;
    std::size_t lines;
  };
  std::vector<Chunk> chunks_;
  std::size_t current_ = 0, used_ = 0, allocations_ = 0;

  void next_chunk(std::size_t lines) {
    while (current_ + 1 < chunks_.size()) {
      current_++;
      used_ = 0;
      if (lines <= chunks_[current_].lines) return;
    }
    const std::size_t before = chunks_.empty() ? 512 : chunks_.back().lines;
    add_chunk(std::max(lines, 2 * before));
    current_ = chunks_.size() - 1;
    used_ = 0;
  }
  void add_chunk(std::size_t lines) {
    chunks_.push_back({std::make_unique_for_overwrite<Line[]>(lines), lines});
    allocations_++;
  }
};

// A vector of a size that is not known beforehand, whose memory is kept from one use to the next.
template <class T>
class Pool {
 public:
  void clear() { values_.clear(); }
  void push(const T& value) { values_.push_back(value); }
  int size() const { return static_cast<int>(values_.size()); }
  void resize(std::integral auto n) { values_.resize(static_cast<std::size_t>(n)); }
  T& operator[](std::integral auto i) { return values_[static_cast<std::size_t>(i)]; }
  const T& operator[](std::integral auto i) const { return values_[static_cast<std::size_t>(i)]; }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  View<T> view() { return {values_.data(), size()}; }

 private:
  std::vector<T> values_;
};

}  // namespace pliant
