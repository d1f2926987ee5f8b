// Data to look at other states of a model in, with the inputs of the user's.
#pragma once
#include <cstdint>
#include "mujoco/model.h"

namespace pliant {

class Aside {
 public:
  ~Aside();
  Aside() = default;
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // Made when it is asked for, of the model that it is asked for; mocap bodies and equalities are those of d.
  mjData* of(Model& model, const mjData& d);

 private:
  mjData* data_ = nullptr;
  std::uint64_t signature_ = 0;
};

}  // namespace pliant
