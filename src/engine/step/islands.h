// Islands: groups of velocities that share no entry of M and no block of rows. Each is solved for itself.
#pragma once
#include "step/rows.h"

namespace pliant {

struct Islands {
  int count = 0;
  View<int> row_island;  // of every row: its island, counted among those that have rows; -1: inert
  View<int> number;      // of an island: its number among those that have rows, or -1
  View<int> local;       // of a velocity: its number in its island
  View<int> velocity_start, velocities, block_start, blocks;

  Island at(int k) const {
    return {velocities.part(velocity_start[k], velocity_start[k + 1] - velocity_start[k]),
            blocks.part(block_start[k], block_start[k + 1] - block_start[k]), local};
  }
};

// Blocks whose rows have no entries make an island of their own, the last.
Islands find_islands(const Step& step, Workspace& work);

}  // namespace pliant
