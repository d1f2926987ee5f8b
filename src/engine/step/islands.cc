#include "step/islands.h"

#include <numeric>

namespace pliant {
namespace {

int root(View<int> parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

void join(View<int> parent, int i, int j) {
  i = root(parent, i);
  j = root(parent, j);
  if (i < j) parent[j] = i;
  else parent[i] = j;
}

// Numbers sorted by where they belong, in their own order.
void distribute(View<const int> home, int count, View<int> start, View<int> sorted) {
  std::fill(start.begin(), start.end(), 0);
  for (int h : home) {
    if (h >= 0) start[h + 1]++;
  }
  for (int k = 0; k < count; k++) start[k + 1] += start[k];
  for (int i = 0; i < home.size(); i++) {
    if (home[i] >= 0) sorted[start[home[i]]++] = i;
  }
  for (int k = count; k > 0; k--) start[k] = start[k - 1];
  start[0] = 0;
}

}  // namespace

Islands find_islands(const Step& step, Workspace& work) {
  const int nv = step.velocities(), blocks = step.blocks();
  View<int> parent = work.take<int>(nv), island_of = work.take<int>(nv), island_of_block = work.take<int>(blocks);
  std::iota(parent.begin(), parent.end(), 0);
  for (int i = 0; i < nv; i++) {
    for (auto e = step.mass_start[i]; e < step.mass_start[i + 1]; e++) {
      const auto j = static_cast<int>(step.mass_column[e]);
      if (j < i && parent[j] != parent[i]) join(parent, i, j);
    }
  }
  for (int b = 0; b < blocks; b++) {
    const auto head = step.block_start[b];
    if (step.block_start[b + 1] == head || step.kind_of(static_cast<int>(head)) == Kind::inert) continue;
    const auto begin = step.jacobian_start[head], end = step.jacobian_start[step.block_start[b + 1]];
    for (auto e = begin + 1; e < end; e++) {
      const auto i = static_cast<int>(step.jacobian_column[begin]), j = static_cast<int>(step.jacobian_column[e]);
      if (parent[j] != parent[i]) join(parent, i, j);
    }
  }
  Islands found;
  for (int i = 0; i < nv; i++) {  // roots are the first of theirs
    const int r = root(parent, i);
    island_of[i] = r == i ? found.count++ : island_of[r];
  }
  bool idle = false;  // whether some rows act on nothing
  for (int b = 0; b < blocks; b++) {
    const auto first = step.block_start[b];
    const auto entry = step.jacobian_start[first];
    island_of_block[b] = -1;
    if (step.block_start[b + 1] == first || step.kind_of(static_cast<int>(first)) == Kind::inert) continue;
    const bool acts = step.jacobian_start[step.block_start[b + 1]] > entry;
    island_of_block[b] = acts ? island_of[step.jacobian_column[entry]] : found.count;
    idle = idle || !acts;
  }
  found.count += idle;
  found.velocity_start = work.take<int>(found.count + 1);
  found.block_start = work.take<int>(found.count + 1);
  found.velocities = work.take<int>(nv);
  found.blocks = work.take<int>(blocks);
  distribute(island_of, found.count, found.velocity_start, found.velocities);
  distribute(island_of_block, found.count, found.block_start, found.blocks);
  found.local = work.take<int>(nv);
  found.number = work.take<int>(found.count);
  int used = 0;
  for (int k = 0; k < found.count; k++) {
    for (int e = found.velocity_start[k]; e < found.velocity_start[k + 1]; e++) {
      found.local[found.velocities[e]] = e - found.velocity_start[k];
    }
    found.number[k] = found.block_start[k + 1] > found.block_start[k] ? used++ : -1;
  }
  found.row_island = work.filled<int>(step.rows(), -1);
  for (int b = 0; b < blocks; b++) {
    if (island_of_block[b] < 0) continue;
    for (auto i = step.block_start[b]; i < step.block_start[b + 1]; i++)
      found.row_island[i] = found.number[island_of_block[b]];
  }
  return found;
}

}  // namespace pliant
