#include "mujoco/aside.h"

#include <algorithm>

namespace pliant {

Aside::~Aside() {
  if (data_) mujoco.mj_deleteData(data_);
}

mjData* Aside::of(Model& model, const mjData& d) {
  const mjModel& m = model.given();
  if (data_ && signature_ != m.signature) {
    mujoco.mj_deleteData(data_);
    data_ = nullptr;
  }
  if (!data_) {
    const mjModel* own = model.own();
    guarded([&] { data_ = mujoco.mj_makeData(own); });
    signature_ = m.signature;
  }
  std::copy_n(d.mocap_pos, 3 * m.nmocap, data_->mocap_pos);
  std::copy_n(d.mocap_quat, 4 * m.nmocap, data_->mocap_quat);
  std::copy_n(d.eq_active, m.neq, data_->eq_active);
  return data_;
}

}  // namespace pliant
