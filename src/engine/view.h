// A view of numbers in memory that somebody else owns, with any integer as the index; checked in debug builds.
#pragma once
#include <concepts>
#include <cstdlib>
#include <span>

namespace pliant {

template <class T>
class View {
 public:
  View() = default;
  View(T* data, int size) : data_(data), size_(size) {}
  View(std::span<T> s) : data_(s.data()), size_(static_cast<int>(s.size())) {}
  operator View<const T>() const { return {data_, size_}; }

  T& operator[](std::integral auto i) const {
#ifdef PLIANT_CHECKED
    if (i < 0 || i >= static_cast<decltype(i)>(size_)) std::abort();
#endif
    return data_[i];
  }
  T* at(std::integral auto i) const { return data_ + i; }
  View part(int first, int count) const { return {data_ + first, count}; }
  T* data() const { return data_; }
  std::span<T> span() const { return {data_, static_cast<std::size_t>(size_)}; }
  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  int size_ = 0;
};

}  // namespace pliant
