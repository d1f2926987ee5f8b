#include "solve/continuation.h"

#include <algorithm>
#include <cmath>

namespace pliant {
namespace {

constexpr double wide = 1e6;                // t at which nothing is closed
constexpr double on_path = 1e-8;            // residual of its points
constexpr double lost = 1e3;                // residual from which there is no way back
constexpr int most_steps = 8, easy = 3;     // Newton steps back to it; those after which the next way is longer
constexpr double grow = 2.5, shrink = 0.4;  // of ways
constexpr double first_way = 0.1, least_t = 1e-3, shortest = 1e-12;

}  // namespace

void Continuation::reserve(Rows& rows, Linear& linear, NaturalMap& map, Newton& newton, Workspace& work) {
  rows_ = &rows;
  linear_ = &linear;
  map_ = &map;
  newton_ = &newton;
  for (auto* v : {&d_, &from_, &along_, &step_}) *v = work.filled<double>(rows.count, 0.0);
  for (auto* v : {&piece_, &other_}) *v = work.take<char>(rows.block.size());
}

bool Continuation::open() {
  speed_ = rows_->energy > 0 ? std::sqrt(rows_->energy) : 1;
  bool any = false;
  for (const Block& b : rows_->block) {
    const Row& normal = rows_->row[b.first];
    bool rubs = false;
    for (int i = b.first + 1; i < b.first + b.size; i++) rubs = rubs || rows_->row[i].mu > 0;
    if (!rubs || normal.fixed()) continue;
    d_[b.first] = std::sqrt(normal.self) * speed_;
    any = true;
  }
  rows_->open(wide, d_);
  return any;
}

// The residual of Newton's forces at t.
double Continuation::look(double t) {
  rows_->open(t, d_);
  rows_->rates(newton_->force, newton_->rate);
  return map_->measure(*rows_, newton_->force, newton_->rate, 0);
}

double Continuation::look_along(double way) {
  for (int i = 0; i < rows_->count; i++) newton_->force[i] = from_[i] + way * along_[i];
  return look(t_ + way * along_t_);
}

// The least t at which no contact is closed.
double Continuation::first_touch() {
  look(0);
  double last = 0;
  for (const Block& b : rows_->block) {
    if (d_[b.first] == 0) continue;
    double compliance;
    const double touching = rate_at(rows_->row[b.first], rows_->h, 0, compliance);
    last = std::max(last, (touching - newton_->rate[b.first]) / d_[b.first]);
  }
  return last;
}

// The way on from Newton's forces, by the factors there: +-(dlambda/dt, 1), of length 1 in the energy norm.
void Continuation::turn() {
  std::copy(newton_->force.begin(), newton_->force.end(), from_.begin());
  linear_->respond(d_);
  double square = 1;
  for (int i = 0; i < rows_->count; i++) {
    const double part = rows_->weight[i] * linear_->dforce[i] / speed_;
    square += part * part;
  }
  along_t_ = (linear_->negative() == odd_ ? -1 : 1) / std::sqrt(square);
  for (int i = 0; i < rows_->count; i++) along_[i] = along_t_ * linear_->dforce[i];
}

// Newton's method from t on, in the plane across the way; at t = 0 with t held.
bool Continuation::correct(double t, int& steps) {
  const bool lands = t == 0;
  for (steps = 0; steps <= most_steps; steps++) {
    const double found = look(t);
    if (!(found < lost) || !newton_->linearise_at(*rows_, *linear_, *map_, epsilon_)) return false;
    if (found < on_path) {
      t_ = t;
      return true;
    }
    linear_->solve({});
    std::copy(linear_->dforce.begin(), linear_->dforce.end(), step_.begin());
    double dt = 0;
    if (!lands) {
      linear_->respond(d_);
      double across = 0, slope = along_t_;
      for (int i = 0; i < rows_->count; i++) {
        const double weight = rows_->weight[i] / speed_;
        across += weight * weight * along_[i] * step_[i];
        slope += weight * weight * along_[i] * linear_->dforce[i];
      }
      dt = -across / slope;
    }
    for (int i = 0; i < rows_->count; i++) newton_->force[i] += step_[i] + dt * linear_->dforce[i];
    t += dt;
  }
  return false;
}

// To where a block first leaves its piece on the way, which may turn back there.
bool Continuation::cross_kink(double way) {
  double low = 0, high = way;
  look_along(0);
  newton_->find_pieces(*rows_, *map_, piece_);
  while (high - low > 1e-14 * way) {
    const double middle = low > 0 ? 0.5 * (low + high) : 0.1 * high;
    look_along(middle);
    newton_->find_pieces(*rows_, *map_, other_);
    (std::equal(piece_.begin(), piece_.end(), other_.begin()) ? low : high) = middle;
  }
  if (high == way || !(look_along(high) < on_path)) return false;
  t_ += high * along_t_;
  return newton_->linearise_at(*rows_, *linear_, *map_, epsilon_);
}

bool Continuation::close(double epsilon, int limit) {
  epsilon_ = epsilon;
  for (const Block& b : rows_->block) {
    for (int i = b.first; i < b.first + b.size && d_[b.first] > 0; i++) newton_->force[i] = 0;
  }
  int steps;
  if (!correct(first_touch(), steps)) return false;
  odd_ = linear_->negative();
  turn();
  const int last = newton_->iterations + limit;
  double way = first_way * std::max(t_, least_t);
  while (newton_->iterations < last && way > shortest) {
    const bool lands = t_ + way * along_t_ <= 0;
    if (lands) way = -t_ / along_t_;
    for (int i = 0; i < rows_->count; i++) newton_->force[i] = from_[i] + way * along_[i];
    const bool arrived = correct(lands ? 0 : t_ + way * along_t_, steps);
    if (arrived && lands) return true;
    const bool crossed = !arrived && cross_kink(way);
    if (arrived && steps <= easy) way *= grow;
    if (!arrived) way *= shrink;
    if (arrived || crossed) turn();
  }
  return false;
}

}  // namespace pliant
