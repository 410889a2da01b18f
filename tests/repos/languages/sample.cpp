// Copyright 2026 nobody.
#include <vector>

namespace ns {

/// A stack.
template <typename T>
class Stack : public Base {
 public:
  /// Makes one.
  Stack() = default;

  void push(const T& value) { data_.push_back(value); }

  bool operator==(const Stack& other) const;

 private:
  std::vector<T> data_;
};

using Number = double;

template <typename T> T twice(T x) {
  return x + x;
}

API_EXPORT int Widget::count() const {
  return 1;
}

}  // namespace ns
